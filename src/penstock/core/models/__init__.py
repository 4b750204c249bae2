"""What Penstock learns of a job: capacity, latency, recovery and load. Values that `learn` and `predict`; nothing here decides."""
