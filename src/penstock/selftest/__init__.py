"""Measurements of Penstock itself: each target of an issue has a command that prints it."""
