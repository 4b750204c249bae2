"""What the owner of a job says about Kafka: its brokers, its topics and what feeds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedSpec:
    """A feeder of one topic; the options are those of a trace source, `value_format` is "json" (all columns) or "raw" (the column `value`)."""

    topic: str
    options: Mapping[str, str]
    value_format: str = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSpec:
    """The Kafka of a job.

    `bootstrap` is a list of brokers, or `EMBEDDED` for one of the job's own. `options` are those of the client in Java's names, without a leading "kafka.".
    `connector` has coordinates and paths of jars; empty is "find one". `topics` has the partitions of each topic that is to be there.
    """

    bootstrap: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    connector: tuple[str, ...] = ()
    topics: Mapping[str, int] = field(default_factory=dict)
    feeds: tuple[FeedSpec, ...] = ()
