"""The execute phase: from what is desired, and what operators say, to instructions."""
