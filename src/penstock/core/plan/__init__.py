"""The plan phase: when to ask the policy, how guards change its decision, and what the mode allows."""
