"""The frozen vocabulary: what is read, wished, instructed and remembered."""
