"""Plan: when to ask the policy, what guards make of its decision, and what the owner's trust lets it do."""
