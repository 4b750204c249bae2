"""Clicks counted by user, from Kafka to Kafka: the demonstration of Real-Time Mode."""
