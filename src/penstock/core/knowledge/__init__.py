"""The K of MAPE-K: what the phases share. Values that outlive a turn, the inputs of a turn, and what a policy sees and is."""
