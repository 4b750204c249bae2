"""Kafka without Spark: an embedded broker, topics, a feeder and a look at what a topic receives. Clients speak with the `kafka.*` options of the job."""
