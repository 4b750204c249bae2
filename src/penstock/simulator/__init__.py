"""Simulated jobs behind the same ports as Spark: engines, their exact records, and their calibration from a history."""
