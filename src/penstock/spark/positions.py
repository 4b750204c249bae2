"""Positions in the sources of a query: rows that have arrived and rows that wait, known for sources whose offsets count rows."""

import json
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext

from penstock.kafka.options import java_options
from penstock.trace.state import TraceState, recipe_of

BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
PATIENCE = {"default.api.timeout.ms": "5000", "request.timeout.ms": "4000"}
EARLIEST, LATEST = -2, -1
CLOSE_S = 2


class Positions(Protocol):
    """Counts rows by the offsets of one source, cumulative since its beginning, by partition."""

    def newest(self) -> Mapping[str, float] | None:
        """Return how many rows have arrived; None while the source does not answer."""

    def origin(self) -> Any:
        """Return the offset at which a new query begins; None if unknown."""

    def at(self, offset: Any) -> Mapping[str, float]:
        """Return how many rows an offset covers."""

    def waited_s(self, offset: Any) -> float | None:
        """Return how long the first row not covered by `offset` has waited; 0 if there is none."""


class TracePositions:
    """Offsets of a trace count its rows; its schedule has the arrival of each."""

    def __init__(self, state: TraceState) -> None:
        self._state = state

    def newest(self) -> Mapping[str, float]:
        now = time.time()
        return {"trace": float(self._state.begin(now).newest_at(now))}

    def origin(self) -> Any:
        return {"position": 0}

    def at(self, offset: Any) -> Mapping[str, float]:
        return {"trace": float(offset["position"])}

    def waited_s(self, offset: Any) -> float | None:
        arrived = float(self._state.schedule().arrival_of(np.array([int(offset["position"])], dtype=np.int64))[0])
        return max(0.0, time.time() - arrived)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Rows that have arrived and were processed, in all and by partition; None if a source does not count rows. `processed` lacks unknown partitions."""

    newest_rows: float | None = None
    processed_rows: float | None = None
    oldest_waiting_s: float | None = None
    newest: Mapping[str, float] | None = None
    processed: Mapping[str, float] | None = None


def where(positions: Sequence[Positions | None], offsets: Sequence[Any] | None) -> Place:
    """Return newest and processed rows over all sources, and how long the oldest waiting row has waited."""
    sources = [each for each in positions if each is not None]
    if not sources or len(sources) < len(positions):
        return Place()
    newest = merged([source.newest() for source in sources])
    newest_rows = None if newest is None else sum(newest.values())
    if offsets is None or len(offsets) != len(sources):
        return Place(newest_rows=newest_rows, newest=newest)
    known = [(source, offset) for source, offset in zip(sources, offsets, strict=True) if offset is not None]
    waits = [source.waited_s(offset) for source, offset in known]
    processed = merged([source.at(offset) for source, offset in known])
    return Place(
        newest_rows=newest_rows,
        processed_rows=sum(processed.values()) if processed else None if len(known) < len(sources) else 0.0,
        oldest_waiting_s=None if any(wait is None for wait in waits) else max((wait for wait in waits if wait is not None), default=None),
        newest=newest,
        processed=processed,
    )


def merged(counts: Sequence[Mapping[str, float] | None]) -> dict[str, float] | None:
    """Merge the counts of several sources; None if one of them is unknown."""
    known = [each for each in counts if each is not None]
    if len(known) < len(counts):
        return None
    together: dict[str, float] = {}
    for i, each in enumerate(known):
        together |= {name if name not in together else f"{name} ({i})": rows for name, rows in each.items()}
    return together


def between(positions: Sequence[Positions | None], start: Sequence[Any], end: Sequence[Any]) -> dict[str, float] | None:
    """Return the rows between start and end offsets of all sources, by partition; None if one of them does not count rows."""
    if len(positions) != len(end) or any(each is None for each in positions) or any(offset is None for offset in end):
        return None
    counts: list[Mapping[str, float] | None] = []
    for source, first, last in zip(positions, start, end, strict=False):
        assert source is not None
        begin = {} if first is None else source.at(first)
        counts.append({name: rows - begin.get(name, 0.0) for name, rows in source.at(last).items()})
    return merged(counts)


class KafkaPositions:
    """Asks the broker for end offsets, with the `kafka.*` options of the source, through the client that came with Spark's connector.

    An offset is Spark's: {"topic": {"partition": the next offset}}. Rows count from the beginning of the topics, deleted ones included.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._jvm: Any = SparkContext._jvm
        self._options = java_options(options)
        given = {option.lower(): value for option, value in options.items()}
        self._topics = [topic.strip() for topic in given.get("subscribe", "").split(",") if topic.strip()]
        self._pattern = given.get("subscribepattern")
        self._assigned: dict[str, list[int]] = json.loads(given["assign"]) if "assign" in given else {}
        self._starting = given.get("startingoffsets", "latest")
        self._lock = threading.Lock()
        self._consumer: Any = None

    def newest(self) -> Mapping[str, float] | None:
        """Return the end offset of each partition; None while no broker answers."""
        try:
            with self._lock:
                consumer = self._client()
                ends = consumer.endOffsets(self._partitions(consumer))
                return {str(partition.toString()): float(offset) for partition, offset in ends.items()}
        except Py4JJavaError:
            return None

    def origin(self) -> Any:
        """Return where a new query begins, by its `startingOffsets`; None while no broker answers."""
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
        """Return the rows up to an offset, by partition.

        >>> KafkaPositions.__new__(KafkaPositions).at({"clicks": {"0": 5, "1": 7}})
        {'clicks-0': 5.0, 'clicks-1': 7.0}
        """
        return {f"{topic}-{partition}": float(position) for topic, partitions in offset.items() for partition, position in partitions.items()}

    def waited_s(self, offset: Any) -> float | None:
        """Return None: offsets alone do not say it; the monitor uses lag over arrival rate instead."""
        return None

    def close(self) -> None:
        """Close the client; Spark's JVM may be gone already."""
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
        """Return all partitions that are read now; topics and partitions may be added while the query runs."""
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


def positions_of(name: str, options: Mapping[str, str]) -> Positions | None:
    """Return the positions of a source of this format; None if its offsets do not count rows."""
    if name == "trace":
        return TracePositions(TraceState(Path(options["state"]), recipe_of(options)))
    if name == "kafka" and {option.lower() for option in options} & {"subscribe", "subscribepattern", "assign"}:
        return KafkaPositions(options)
    return None
