"""How much load will come."""
