"""What readings and events show afterwards: the report of a run, decisions explained, grades, readiness. The loop uses none of it."""
