"""The monitor phase: from raw facts to one Reading, and the outcomes of instructions."""
