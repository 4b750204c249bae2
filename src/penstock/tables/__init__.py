"""Measurements that people bring in CSV files: read whole, checked, or refused in one line."""
