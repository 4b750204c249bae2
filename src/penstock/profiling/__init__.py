"""Phoebe's profiling of a job on a testbed."""
