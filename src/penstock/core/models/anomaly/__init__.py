"""Detect when a job is disturbed, and when it has recovered."""
