"""What readings and events tell afterwards: the report of a run, decisions explained, grades, readiness. The loop uses none of it."""
