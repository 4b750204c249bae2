"""Experiments: cells that are run, stored as they finish, and resumed."""
