"""The monitor phase: from raw facts to one Reading."""
