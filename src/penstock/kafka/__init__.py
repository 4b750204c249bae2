"""Kafka without Spark: an embedded broker, topics, a feeder and samples of a topic. Clients use the `kafka.*` options of the job."""
