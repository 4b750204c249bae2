"""The `trace` source: rows at a rate that moves over time, exact to the row."""
