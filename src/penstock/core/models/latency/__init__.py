"""How long a row takes from its arrival to its result."""
