"""The Kafka of a job beside Spark: its embedded broker, its topics and its feeders."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.core.domain.events.event import Event
from penstock.core.domain.events.source_events import FeedBehind, FeedCaughtUp, FeedEnded, FeedFailed
from penstock.core.domain.job_spec import EMBEDDED, FeedSpec, JobSpec
from penstock.core.errors import NotReachable, UserMistake
from penstock.kafka.broker import EmbeddedBroker
from penstock.kafka.feed import Feed, Order
from penstock.kafka.feeder import FeedReport
from penstock.kafka.options import client_options
from penstock.kafka.topics import make_topics
from penstock.ports import Clock
from penstock.spark.connector import broker_jars
from penstock.trace.state import TraceState, recipe_of

SERVERS = "kafka.bootstrap.servers"
BEHIND_S = 2.0


class JobKafka:
    """Starts in two steps: the broker before the session needs its address, topics and feeders before the queries start. `folder` outlives a run."""

    def __init__(self, spec: JobSpec, folder: Path, clock: Clock, note: Callable[[Sequence[Event]], None]) -> None:
        self.spec = spec
        self._folder = folder
        self._clock = clock
        self._note = note
        self._broker: EmbeddedBroker | None = None
        self._feeds: dict[str, Feed] = {}
        self._states: dict[str, TraceState] = {}
        self._behind: set[str] = set()
        self._closing = False

    def start_broker(self) -> JobSpec:
        """Start an embedded broker if the job asks for one; return the job with the broker's address filled in."""
        if needs_broker(self.spec):
            broker = EmbeddedBroker(self._folder / "kafka", broker_jars().jars)
            broker.start()
            self._broker = broker
            self.spec = at_address(self.spec, broker.bootstrap)
        return self.spec

    @property
    def bootstrap(self) -> str | None:
        return self.spec.kafka.bootstrap

    @property
    def broker(self) -> EmbeddedBroker | None:
        return self._broker

    def make_topics(self) -> None:
        if self.spec.kafka.topics:
            try:
                make_topics(self._client(), self.spec.kafka.topics)
            except NotReachable as error:
                raise UserMistake(f"{error}; see that kafka.bootstrap names a broker that runs") from None

    def start_feeds(self) -> None:
        """Start a feeder for each feed; it continues where an earlier run of the job left its topic."""
        for feed in self.spec.kafka.feeds:
            options = {**feed.options, "folder": self.spec.folder, "state": str(self._folder / f"feed-{feed.topic}.json")}
            state = TraceState(Path(options["state"]), recipe_of(options))
            state.begin(time.time())
            self._states[feed.topic] = state
            order = Order(
                topic=feed.topic,
                partitions=self.spec.kafka.topics[feed.topic],
                client=self._client(),
                options=options,
                mark=self._folder / f"feed-{feed.topic}.mark",
                value_format=feed.value_format,
            )
            self._feeds[feed.topic] = Feed(order, self._hear(feed))
        for running in self._feeds.values():
            running.wait_first()

    def _client(self) -> dict[str, str]:
        kafka = self.spec.kafka
        return client_options({"bootstrap.servers": kafka.bootstrap or "", **kafka.options})

    def _hear(self, feed: FeedSpec) -> Callable[[FeedReport | None], None]:
        """Return a listener that reports once when a feeder falls behind, and when it has caught up."""

        def hear(report: FeedReport | None) -> None:
            now_s = self._clock.now_s()
            if report is None:
                if not self._closing:
                    self._note([FeedFailed(at_s=now_s, topic=feed.topic, reason=self._feeds[feed.topic].close() or "its process ended")])
            elif report.behind_s > BEHIND_S and feed.topic not in self._behind:
                self._behind.add(feed.topic)
                self._note([FeedBehind(at_s=now_s, topic=feed.topic, behind_rows=report.behind_rows, behind_s=report.behind_s)])
            elif report.behind_s < BEHIND_S / 2 and feed.topic in self._behind:
                self._behind.discard(feed.topic)
                self._note([FeedCaughtUp(at_s=now_s, topic=feed.topic)])

        return hear

    @property
    def feeds(self) -> Mapping[str, Feed]:
        """The running feeders by topic."""
        return self._feeds

    @property
    def rates(self) -> Mapping[str, TraceState]:
        """The traces of the feeders; their rates can be overridden."""
        return self._states

    def status(self) -> list[dict[str, Any]]:
        return [feed.last.summary(topic) for topic, feed in self._feeds.items() if feed.last is not None]

    def stop_feeds(self) -> None:
        self._closing = True
        with ExitStack() as last:
            for feed in self._feeds.values():
                last.callback(feed.close)
        for topic, feed in self._feeds.items():
            if feed.last is not None:
                self._note([FeedEnded(at_s=self._clock.now_s(), topic=topic, sent_rows=feed.last.sent_rows, worst_behind_s=feed.last.worst_behind_s)])
        self._feeds.clear()

    def stop_broker(self) -> None:
        if self._broker is not None:
            self._broker.stop()
            self._broker = None


def needs_broker(spec: JobSpec) -> bool:
    options = [source.options for source in spec.sources] + [query.sink.options for query in spec.queries]
    return spec.kafka.bootstrap == EMBEDDED or any(says_embedded(*option) for each in options for option in each.items())


def at_address(spec: JobSpec, address: str) -> JobSpec:
    """Return the job with the broker's address in place of "embedded"."""

    def put(options: Mapping[str, str]) -> Mapping[str, str]:
        return {name: address if says_embedded(name, value) else value for name, value in options.items()}

    return replace(
        spec,
        kafka=replace(spec.kafka, bootstrap=address if spec.kafka.bootstrap == EMBEDDED else spec.kafka.bootstrap),
        sources=tuple(replace(source, options=put(source.options)) for source in spec.sources),
        queries=tuple(replace(query, sink=replace(query.sink, options=put(query.sink.options))) for query in spec.queries),
    )


def says_embedded(option: str, value: str) -> bool:
    """Return whether an option of a source or a sink asks for the job's own broker; Spark ignores case in its name."""
    return option.lower() == SERVERS and value == EMBEDDED
