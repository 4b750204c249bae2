"""How long a job takes to be itself again."""
