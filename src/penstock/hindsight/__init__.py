"""Analyses of recorded runs: what another policy would have done, what executors were wasted, and whether the decisions are reproduced."""
