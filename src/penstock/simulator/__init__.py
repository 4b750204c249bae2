"""Simulated jobs behind the same ports as Spark: engines that make observations, and the record that scores come from."""
