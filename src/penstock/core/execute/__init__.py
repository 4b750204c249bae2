"""The execute phase: instructions that lead to the desired configuration, and restarts of queries."""
