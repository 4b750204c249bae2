"""How many rows a second a job can take."""
