"""Positions of a Kafka source: how far its topics have come, asked from the broker."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext

BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
PATIENCE = {"default.api.timeout.ms": "5000", "request.timeout.ms": "4000"}


class KafkaPositions:
    """Asks end offsets with the `kafka.*` options of the source itself, through the client that came with Spark's connector.

    An offset is Spark's: {"topic": {"partition": the next offset}}. Rows are counted from the beginning of the topics, deleted ones included,
    so that differences are right. Where a query starts is not known before its first report.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._jvm: Any = SparkContext._jvm
        self._options = {key.removeprefix("kafka."): value for key, value in options.items() if key.startswith("kafka.")}
        told = {option.lower(): value for option, value in options.items()}
        self._topics = [topic.strip() for topic in told.get("subscribe", "").split(",") if topic.strip()]
        self._pattern = told.get("subscribepattern")
        self._lock = threading.Lock()
        self._consumer: Any = None

    def newest_rows(self) -> float | None:
        """The sum of the end offsets; None while no broker answers: that must not end a reading."""
        try:
            with self._lock:
                consumer = self._client()
                return float(sum(consumer.endOffsets(self._partitions(consumer)).values()))
        except Py4JJavaError:
            return None

    def origin(self) -> Any:
        return None

    def rows_at(self, offset: Any) -> float:
        """Rows up to an offset.

        >>> KafkaPositions.__new__(KafkaPositions).rows_at({"clicks": {"0": 5, "1": 7}})
        12.0
        """
        return float(sum(position for partitions in offset.values() for position in partitions.values()))

    def waited_s(self, offset: Any) -> float | None:
        """Not known from offsets alone: the lag over the arrival rate stands for it."""
        return None

    def _client(self) -> Any:
        if self._consumer is None:
            settings = self._jvm.java.util.HashMap()
            for key, value in {**PATIENCE, **self._options, "key.deserializer": BYTES, "value.deserializer": BYTES, "enable.auto.commit": "false"}.items():
                settings.put(key, value)
            self._consumer = self._jvm.org.apache.kafka.clients.consumer.KafkaConsumer(settings)
        return self._consumer

    def _partitions(self, consumer: Any) -> Any:
        """All partitions of the topics; topics and partitions may be added while the query runs."""
        wanted = self._jvm.java.util.ArrayList()
        topics = self._topics
        if self._pattern:
            compiled = self._jvm.java.util.regex.Pattern.compile(self._pattern)
            topics = [topic for topic in consumer.listTopics() if compiled.matcher(topic).matches()]
        for topic in topics:
            for each in consumer.partitionsFor(topic):
                wanted.add(self._jvm.org.apache.kafka.common.TopicPartition(each.topic(), each.partition()))
        return wanted
