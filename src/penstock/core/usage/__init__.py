"""How busy executors are, and how much of a reading they were there for."""
