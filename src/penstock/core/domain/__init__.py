"""The frozen vocabulary: configurations, readings, commands, decisions, instructions, predictions and events."""
