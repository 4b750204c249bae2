"""A trace: its state file and its rows. Spark's source and the feeder both read it."""
