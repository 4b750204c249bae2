"""Spark's own event logs, read as a monitor would have seen the job."""
