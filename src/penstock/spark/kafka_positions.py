"""Positions of a Kafka source: how far its topics have come, asked from the broker, by partition."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext

from penstock.kafka.options import java_options

BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
PATIENCE = {"default.api.timeout.ms": "5000", "request.timeout.ms": "4000"}
EARLIEST, LATEST = -2, -1
CLOSE_S = 2


class KafkaPositions:
    """Asks end offsets with the `kafka.*` options of the source itself, through the client that came with Spark's connector.

    An offset is Spark's: {"topic": {"partition": the next offset}}. Rows are counted from the beginning of the topics, deleted ones included,
    so that differences are right.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._jvm: Any = SparkContext._jvm
        self._options = java_options(options)
        told = {option.lower(): value for option, value in options.items()}
        self._topics = [topic.strip() for topic in told.get("subscribe", "").split(",") if topic.strip()]
        self._pattern = told.get("subscribepattern")
        self._assigned: dict[str, list[int]] = json.loads(told["assign"]) if "assign" in told else {}
        self._starting = told.get("startingoffsets", "latest")
        self._lock = threading.Lock()
        self._consumer: Any = None

    def newest(self) -> Mapping[str, float] | None:
        """The end offset of each partition; None while no broker answers: that must not end a reading."""
        try:
            with self._lock:
                consumer = self._client()
                return by_name(consumer.endOffsets(self._partitions(consumer)))
        except Py4JJavaError:
            return None

    def origin(self) -> Any:
        """Where a new query begins, by its `startingOffsets`; None while no broker answers."""
        try:
            with self._lock:
                consumer = self._client()
                partitions = self._partitions(consumer)
                first, last = consumer.beginningOffsets(partitions), consumer.endOffsets(partitions)
        except Py4JJavaError:
            return None
        given = json.loads(self._starting) if self._starting.startswith("{") else {}
        offset: dict[str, dict[str, int]] = {}
        for each in partitions:
            asked = given.get(each.topic(), {}).get(str(each.partition()), EARLIEST if self._starting == "earliest" else LATEST)
            begin = {EARLIEST: first[each], LATEST: last[each]}.get(asked, asked)
            offset.setdefault(str(each.topic()), {})[str(each.partition())] = int(begin)
        return offset

    def at(self, offset: Any) -> Mapping[str, float]:
        """Rows up to an offset, by partition.

        >>> KafkaPositions.__new__(KafkaPositions).at({"clicks": {"0": 5, "1": 7}})
        {'clicks-0': 5.0, 'clicks-1': 7.0}
        """
        return {f"{topic}-{partition}": float(position) for topic, partitions in offset.items() for partition, position in partitions.items()}

    def waited_s(self, offset: Any) -> float | None:
        """Not known from offsets alone: the lag over the arrival rate stands for it."""
        return None

    def close(self) -> None:
        """Let go of the broker; Spark's JVM may be gone already, and the client with it."""
        with self._lock, suppress(Py4JError):
            if self._consumer is not None:
                self._consumer.close(self._jvm.java.time.Duration.ofSeconds(CLOSE_S))
            self._consumer = None

    def _client(self) -> Any:
        if self._consumer is None:
            settings = self._jvm.java.util.HashMap()
            for key, value in {**PATIENCE, **self._options, "key.deserializer": BYTES, "value.deserializer": BYTES, "enable.auto.commit": "false"}.items():
                settings.put(key, value)
            self._consumer = self._jvm.org.apache.kafka.clients.consumer.KafkaConsumer(settings)
        return self._consumer

    def _partitions(self, consumer: Any) -> Any:
        """All partitions that are read; topics and partitions may be added while the query runs."""
        wanted = self._jvm.java.util.ArrayList()
        partition = self._jvm.org.apache.kafka.common.TopicPartition
        for topic, numbers in self._assigned.items():
            for number in numbers:
                wanted.add(partition(topic, number))
        topics = self._topics
        if self._pattern:
            compiled = self._jvm.java.util.regex.Pattern.compile(self._pattern)
            topics = [topic for topic in consumer.listTopics() if compiled.matcher(topic).matches()]
        for topic in topics:
            for each in consumer.partitionsFor(topic):
                wanted.add(partition(each.topic(), each.partition()))
        return wanted


def by_name(offsets: Any) -> dict[str, float]:
    """Offsets by the name of their partition: a Java map from partitions to numbers."""
    return {str(partition.toString()): float(offset) for partition, offset in offsets.items()}
