"""How long a job takes to recover."""
