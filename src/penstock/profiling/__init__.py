"""Phoebe's profiling: copies of a job at several sizes, tried at rising rates until none keeps up."""
