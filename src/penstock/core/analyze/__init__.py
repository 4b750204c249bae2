"""Analyse: learn from readings, assess what the job can carry and what is to come, and grade what was predicted."""
