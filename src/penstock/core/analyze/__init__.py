"""The analyze phase: learn from readings, grade predictions, and assess capacity and load for a decision."""
