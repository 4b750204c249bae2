"""Penstock's own standalone cluster: real Master, Worker and executor processes from a pip install alone."""
