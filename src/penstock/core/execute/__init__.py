"""The execute phase: instructions that lead to the desired configuration, their outcomes, and restarts of queries."""
