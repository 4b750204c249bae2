"""Measurements with a known truth, generated: for benchmarks and tests of the models."""
