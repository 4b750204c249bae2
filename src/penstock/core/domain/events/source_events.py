"""Traces, feeds and the Kafka connector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.core.domain.events.event import Event
from penstock.core.domain.units import count_words


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRateSet(Event):
    source: str
    who: str
    rows_per_s: float | None
    times: float | None = None
    """The trace begins again, at so many times its rate."""

    def words(self) -> str:
        what = "follows its trace again" if self.rows_per_s is None else f"sends {count_words(self.rows_per_s)} rows/s"
        if self.times is not None:
            what = "begins its trace again" + ("" if self.times == 1 else f", at {self.times:.3g} times its rate")
        return f"{self.who}: source {self.source} {what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorFound(Event):
    """Which Kafka connector is used, and why it is not the one of this Spark."""

    line: str

    def words(self) -> str:
        return self.line


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedBehind(Event):
    trouble: ClassVar[bool] = True
    topic: str
    behind_rows: float
    behind_s: float

    def words(self) -> str:
        return f"the feeder of {self.topic} cannot keep up: {count_words(self.behind_rows)} rows, {self.behind_s:.1f} s behind its trace"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedCaughtUp(Event):
    topic: str

    def words(self) -> str:
        return f"the feeder of {self.topic} keeps up again"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedFailed(Event):
    trouble: ClassVar[bool] = True
    topic: str
    reason: str

    def words(self) -> str:
        return f"the feeder of {self.topic} ended: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEnded(Event):
    topic: str
    sent_rows: float
    worst_behind_s: float

    def words(self) -> str:
        return f"the feeder of {self.topic} sent {count_words(self.sent_rows)} rows, never more than {self.worst_behind_s:.1f} s behind its trace"
