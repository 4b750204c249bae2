"""What observation costs a query."""
