"""Forecasts of the arrival rate."""
