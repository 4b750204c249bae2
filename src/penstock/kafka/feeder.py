"""The feeder process: produces the rows of a trace into a topic, each when it is due.

It reads its order from standard input as JSON, reports on standard output every second how it keeps up, and ends on SIGTERM with everything sent.
"""

import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from confluent_kafka import KafkaError, KafkaException, Producer

from penstock.core.errors import NotReachable, PenstockError, UserMistake
from penstock.core.shapes.schedule import Schedule
from penstock.kafka.block import Block, BlockMaker, Ints
from penstock.kafka.mark import Deliveries, Mark, find_mark, take_lease
from penstock.kafka.topics import REFUSALS, make_client, partitions_of, refusal_words, words_of
from penstock.trace.rows import CHUNK_ROWS, row_maker
from penstock.trace.state import TraceState, recipe_of

TICK_S = 0.01
AHEAD_S = 0.25
REPORT_EVERY_S = 1.0
DRAIN_S = 5.0
STUCK_S = 10.0
PROBE_S = 2.0
QUEUE_ROWS = 200_000
PRODUCER = {
    "enable.idempotence": True,
    "message.timeout.ms": 0,  # never give up on a row while the broker is away
    "reconnect.backoff.max.ms": 1_000,
    "linger.ms": 2,
    "queue.buffering.max.messages": QUEUE_ROWS,
    "compression.type": "lz4",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedReport:
    """How a feeder keeps up: rows in the topic, rows scheduled so far, and how long the next row has been due, now and at most since the start."""

    sent_rows: int
    scheduled_rows: int
    rate_rows_per_s: float
    behind_s: float
    worst_behind_s: float
    ended: bool = False

    @property
    def behind_rows(self) -> int:
        return max(0, self.scheduled_rows - self.sent_rows)

    def summary(self, topic: str) -> dict[str, Any]:
        return {
            "topic": topic, "sent_rows": self.sent_rows, "rate_rows_per_s": self.rate_rows_per_s, "behind_s": self.behind_s,
            "worst_behind_s": self.worst_behind_s,
        }  # fmt: skip


class Feeder:
    """Feeds one topic, each row exactly once, from its mark on, up to `limit` rows if given. It must be the topic's only writer."""

    def __init__(self, order: Mapping[str, Any], out: int) -> None:
        options = order["options"]
        self._order = order
        self._out = out
        self._topic: str = order["topic"]
        self._limit: int | None = order.get("limit")
        self._mark_path = Path(order["mark"])
        self._state = TraceState(Path(options["state"]), recipe_of(options))
        self._rows = row_maker(options)
        self._lease = take_lease(self._mark_path, DRAIN_S + 5.0)
        self._open(*find_mark(order))
        self._maker.try_out()
        self._schedule = self._state.begin(time.time())
        self._worst_s = 0.0
        self._stopping = False

    def _open(self, mark: Mark, ends: list[int]) -> None:
        """Open a producer, to go on after the mark and the ends of the topic."""
        order = self._order
        self._deliveries = Deliveries(self._topic, ends)
        self._maker = BlockMaker(
            rows=self._rows, seed=int(order["options"].get("seed", 0)), value_format=order["value_format"], partitions=len(ends),
            report=self._deliveries.report,
        )  # fmt: skip
        self._producer = make_client(Producer, {**PRODUCER, **order["client"], "error_cb": self._hear})
        self._position = self._delivered = mark.position
        self._offsets: Ints = np.array(mark.offsets, dtype=np.int64)
        self._held: Ints = np.array(mark.sent_since(ends), dtype=np.int64)
        self._block: Block | None = None
        self._moved_s = time.monotonic()

    def stop(self) -> None:
        self._stopping = True

    def run(self) -> None:
        """Feed until stopped, or until all rows of the limit are in the topic."""
        self._report()
        reported_s = time.monotonic()
        while not self._stopping and not self._is_done():
            if not self._send_what_is_due(time.time()):
                time.sleep(TICK_S)
            self._producer.poll(0)
            self._note_confirmed()
            self._replace_stuck_producer()
            if time.monotonic() - reported_s >= REPORT_EVERY_S:
                reported_s = time.monotonic()
                self._report()
        self._put_back()
        all_delivered = self._producer.flush(DRAIN_S) == 0
        self._note_confirmed()
        if all_delivered:
            self._mark().write(self._mark_path)
        self._report(ended=True)

    def _is_done(self) -> bool:
        return self._limit is not None and self._position >= self._limit and len(self._producer) == 0

    def _send_what_is_due(self, now_s: float) -> bool:
        schedule = self._state.schedule()
        if schedule is not self._schedule:
            self._put_back()
            self._schedule = schedule
        if self._block is None:
            self._block = self._next_block(schedule, now_s)
        if self._block is None:
            return False
        sent = self._send(self._block, now_s)
        self._position = self._block.position
        if self._block.is_sent:
            self._put_back()
            self._deliveries.await_mark(self._mark())
        return sent

    def _next_block(self, schedule: Schedule, now_s: float) -> Block | None:
        """Return the rows that are due soon, if any."""
        soon = schedule.newest_at(now_s + AHEAD_S)
        end = min(soon, self._position + CHUNK_ROWS, soon if self._limit is None else self._limit)
        return self._maker.make(schedule, self._position, end, self._offsets, self._held) if end > self._position else None

    def _send(self, block: Block, now_s: float) -> bool:
        """Hand the rows that are due to the producer, as far as its queue has room; return whether any were."""
        first = block.sent
        end = min(block.due(now_s), first + QUEUE_ROWS - len(self._producer))
        if end <= first:
            return block.is_sent
        self._worst_s = max(self._worst_s, now_s - block.arrival_s())
        produce, topic = self._producer.produce, self._topic
        columns = (block.values, block.keys, block.partitions, block.reports, block.stamps_ms)
        try:
            for value, key, partition, report, stamp_ms in zip(*(column[first:end] for column in columns), strict=True):
                produce(topic, value, key, partition, report, None, stamp_ms)  # by position: much faster than by name
                block.sent += 1
        except BufferError:
            pass
        return block.sent > first

    def _put_back(self) -> None:
        """Drop the block; rows of it that were not sent are made again later, with the arrivals that they have then."""
        if self._block is not None:
            self._position, self._offsets, self._held = self._block.position, self._block.offsets_now(), self._block.held_now()
            self._block = None

    def _mark(self) -> Mark:
        return Mark(position=self._position, offsets=tuple(self._offsets.tolist()))

    def _note_confirmed(self) -> None:
        confirmed = self._deliveries.confirmed()
        if confirmed is not None:
            confirmed.write(self._mark_path)
        if self._deliveries.problem is not None:
            raise UserMistake(self._deliveries.problem)

    def _replace_stuck_producer(self) -> None:
        """Open a new producer if the old one delivers nothing though the broker answers.

        librdkafka gives up for good if a broker answers, as it shuts down or is short of CPU, that the cluster has no brokers (its issue 5301).
        """
        waiting, now_s = len(self._producer), time.monotonic()
        delivered = self._position - waiting
        if waiting == 0 or delivered > self._delivered:
            self._delivered, self._moved_s = max(delivered, self._delivered), now_s
        elif now_s - self._moved_s > STUCK_S:
            try:
                partitions_of(self._order["client"], PROBE_S)
            except NotReachable:
                self._moved_s = now_s - STUCK_S / 2
                return
            self._producer.purge()
            del self._producer
            self._open(*find_mark(self._order))

    def _hear(self, error: KafkaError) -> None:
        if error.code() in REFUSALS or error.fatal():
            self._deliveries.problem = refusal_words(self._order["client"].get("bootstrap.servers", ""), error)

    def _report(self, *, ended: bool = False) -> None:
        now_s = time.time()
        due = self._schedule.newest_at(now_s)
        scheduled = due if self._limit is None else min(due, self._limit)
        sent = max(self._delivered, self._position - len(self._producer))
        late_s = max(0.0, now_s - float(self._schedule.arrival_of(np.array([sent]))[0])) if sent < scheduled else 0.0
        self._worst_s = max(self._worst_s, late_s)
        report = FeedReport(
            sent_rows=sent, scheduled_rows=scheduled, rate_rows_per_s=self._schedule.rate_at(now_s), behind_s=late_s, worst_behind_s=self._worst_s, ended=ended
        )
        try:
            os.write(self._out, f"{json.dumps(asdict(report))}\n".encode())
        except BrokenPipeError:
            self.stop()


def watch_parent(parent: int, feeder: Feeder) -> None:
    """End when the parent process has ended."""
    while os.getppid() == parent:
        time.sleep(0.5)
    feeder.stop()
    time.sleep(DRAIN_S + 5.0)
    os._exit(1)


def main() -> int:
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a row maker may print
    try:
        order = json.load(sys.stdin)
        feeder = Feeder(order, out)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: feeder.stop())
        if order.get("parent") is not None:
            threading.Thread(target=watch_parent, args=(order["parent"], feeder), daemon=True).start()
        feeder.run()
    except PenstockError as error:
        print(error, file=sys.stderr)
    except KafkaException as error:
        print(f"feed: {words_of(error.args[0])}", file=sys.stderr)
    except Exception as error:
        traceback.print_exc()
        print(f"feed: {type(error).__name__}: {' '.join(str(error).split())}", file=sys.stderr)
    else:
        return 0
    return 2


if __name__ == "__main__":
    sys.exit(main())
