"""What the stages of a query could do if they were busy all the time."""
