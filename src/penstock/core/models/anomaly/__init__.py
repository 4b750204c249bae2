"""When a job does not behave as it did."""
