"""Samples of the records that arrive in a topic: when each was written, and when its input had arrived."""

import json
import math
import threading
import time
from collections import deque
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaException, Message, TopicPartition

from penstock.core.monitor.facts import OutputSample
from penstock.kafka.topics import make_client

LOOK_EVERY_S = 0.5
READ_S = 2.0
RUNS = 4
RUN_RECORDS = 50
CONSUMER = {
    "group.id": "penstock-tail",
    "enable.auto.commit": "false",
    "auto.offset.reset": "latest",
    "reconnect.backoff.max.ms": 1_000,
    # It reads short runs at many places: fetch little at a time, and do not wait for more at one place.
    "queued.min.messages": 1_000,
    "max.partition.fetch.bytes": 128 * 1024,
    "fetch.wait.max.ms": 10,
    "fetch.queue.backoff.ms": 10,
}
_SECONDS_BELOW, _MILLIS_BELOW, _MICROS_BELOW = 1e11, 1e14, 1e17


class TopicTail:
    """Samples a topic in a thread of its own: every half second a few runs of records, spread evenly over the new ones.

    `written_rows` is the number of records in the topic, None while the broker is away; `unreadable` counts sampled records without an arrival.
    """

    def __init__(self, client: Mapping[str, str], topic: str, partitions: int, arrival_field: str) -> None:
        self._client = {**CONSUMER, **client}
        self._consumer = make_client(Consumer, self._client)
        self._topic = topic
        self._partitions = partitions
        self._field = arrival_field
        self._seen: dict[int, int] = {}
        self._short: set[int] = set()  # partitions that returned fewer records than asked for, and are read once more
        self._fresh: deque[OutputSample] = deque(maxlen=100_000)
        self._stopping = threading.Event()
        self.written_rows: int | None = None
        self.unreadable = 0
        self._thread = threading.Thread(target=self._watch, name=f"penstock-tail-{topic}", daemon=True)
        self._thread.start()

    def take(self) -> list[OutputSample]:
        return [self._fresh.popleft() for _ in range(len(self._fresh))]

    def close(self) -> None:
        self._stopping.set()
        self._thread.join(timeout=10)

    def _watch(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    self._look()
                except KafkaException:
                    # The broker is away. librdkafka may have given up on it for good (its issue 5301), so take a new client.
                    self.written_rows = None
                    self._consumer.close()
                    self._consumer = make_client(Consumer, self._client)
                self._stopping.wait(LOOK_EVERY_S)
        finally:
            self._consumer.close()

    def _look(self) -> None:
        places = [TopicPartition(self._topic, each) for each in range(self._partitions)]
        ends = {place.partition: self._consumer.get_watermark_offsets(place, timeout=2.0)[1] for place in places}
        for partition, end in ends.items():
            if self._seen.setdefault(partition, end) > end:
                self._seen[partition] = end
        plan = {partition: runs(self._seen[partition], end, self._run_records) for partition, end in ends.items() if end > self._seen[partition]}
        read: dict[int, list[Message]] = {partition: [] for partition in plan}
        for turn in range(RUNS if plan else 0):
            self._read({partition: spans[turn] for partition, spans in plan.items() if turn < len(spans)}, read)
        self._consumer.unassign()
        for partition, messages in read.items():
            is_all = len(messages) == sum(stop - begin for begin, stop in plan[partition])
            if is_all or (messages and partition in self._short):
                self._sample(messages, (ends[partition] - self._seen[partition]) / len(messages))
                self._seen[partition] = ends[partition]
                self._short.discard(partition)
            else:
                self._short.add(partition)
        self.written_rows = sum(ends.values())

    @property
    def _run_records(self) -> int:
        """Records in a run: with more than four partitions, as many in all as with four."""
        return max(5, RUN_RECORDS * 4 // max(4, self._partitions))

    def _read(self, spans: dict[int, tuple[int, int]], read: dict[int, list[Message]]) -> None:
        """Read one run of each partition, all at once."""
        if not spans:
            return
        self._consumer.assign([TopicPartition(self._topic, partition, begin) for partition, (begin, _) in spans.items()])
        open_, deadline = {partition: stop for partition, (_, stop) in spans.items()}, time.monotonic() + READ_S
        while open_ and time.monotonic() < deadline and not self._stopping.is_set():
            for message in self._consumer.consume(500, 0.1):
                stop = None if message.error() is not None else open_.get(message.partition())
                if stop is None:
                    continue
                if message.offset() < stop:
                    read[message.partition()].append(message)
                if message.offset() + 1 >= stop:
                    del open_[message.partition()]

    def _sample(self, messages: list[Message], rows: float) -> None:
        for message in messages:
            kind, written_ms = message.timestamp()
            came_s = arrival_of(message.value(), message.headers(), self._field)
            if came_s is None or kind == TIMESTAMP_NOT_AVAILABLE:
                self.unreadable += 1
            else:
                self._fresh.append(OutputSample(wall_s=written_ms / 1000, latency_s=written_ms / 1000 - came_s, rows=rows))


def runs(first: int, end: int, records: int = RUN_RECORDS) -> list[tuple[int, int]]:
    """Return which offsets to read of [first, end): all if they are few, else evenly spread runs of `records` each.

    >>> runs(0, 100), runs(0, 4000)
    ([(0, 100)], [(0, 50), (1000, 1050), (2000, 2050), (3000, 3050)])
    """
    count = end - first
    if count <= RUNS * records:
        return [(first, end)] if count > 0 else []
    begins = [first + count * i // RUNS for i in range(RUNS)]
    return [(begin, begin + records) for begin in begins]


def arrival_of(value: bytes | None, headers: Any, field: str) -> float | None:
    """Return seconds since 1970 from the header, or else the field of the JSON value, with this name; None if there is neither.

    >>> arrival_of(b'{"arrival": 1700000000}', None, "arrival"), arrival_of(b"x", [("arrival", b"1700000000")], "arrival"), arrival_of(b"x", None, "arrival")
    (1700000000.0, 1700000000.0, None)
    """
    said: Any = next((text.decode(errors="replace") for name, text in headers or () if name == field and text is not None), None)
    if said is None and value:
        try:
            document = json.loads(value)
        except (ValueError, RecursionError):
            return None
        said = document.get(field) if isinstance(document, dict) else None
    return as_seconds(said)


def as_seconds(said: Any) -> float | None:
    """Return seconds since 1970 from a number (seconds, milli-, micro- or nanoseconds, by magnitude) or from ISO 8601, as Spark's `to_json` writes it.

    >>> as_seconds(1700000000), as_seconds("1700000000123"), as_seconds("2023-11-14T22:13:20.500Z"), as_seconds("soon")
    (1700000000.0, 1700000000.123, 1700000000.5, None)
    """
    if isinstance(said, bool):
        return None
    try:
        number = float(said)
    except (TypeError, ValueError, OverflowError):
        return _moment(said) if isinstance(said, str) else None
    if not math.isfinite(number):
        return None
    for below, unit in ((_SECONDS_BELOW, 1.0), (_MILLIS_BELOW, 1e3), (_MICROS_BELOW, 1e6)):
        if number < below:
            return number / unit
    return number / 1e9


def _moment(said: str) -> float | None:
    try:
        moment = datetime.fromisoformat(said)
        return None if moment.tzinfo is None else moment.timestamp()
    except (ValueError, OverflowError):
        return None
