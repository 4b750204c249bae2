"""Generated measurements with a known truth, for measuring and testing the models."""
