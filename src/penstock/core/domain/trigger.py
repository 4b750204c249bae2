"""When a query starts its next batch."""

import math
from dataclasses import dataclass
from typing import Literal, Self

from penstock.core.domain.units import duration_words, parse_duration_s
from penstock.core.errors import UserMistake

Kind = Literal["processing_time", "real_time", "available_now"]
Plant = Literal["micro_batch", "continuous"]
"""How the job works: batch by batch, or with tasks that run all the time (Real-Time Mode, the papers' engines)."""

SHORTEST_REAL_TIME_S = 5.0
"""Spark refuses a shorter batch duration in Real-Time Mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """A trigger of Structured Streaming; an interval of 0 means "as soon as the last batch is done".

    >>> Trigger.parse("5s")
    Trigger(kind='processing_time', interval_s=5.0)
    >>> str(Trigger.parse("realtime:15s"))
    'realtime:15s'
    """

    kind: Kind = "processing_time"
    interval_s: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Self:
        text = text.strip()
        if text in ("available-now", "available_now"):
            return cls(kind="available_now")
        if text in ("", "asap"):
            return cls()
        kind: Kind = "processing_time"
        if text.startswith("realtime:"):
            kind, text = "real_time", text.removeprefix("realtime:")
        try:
            return cls(kind=kind, interval_s=parse_duration_s(text))
        except UserMistake as mistake:
            raise UserMistake(f'{mistake}; a trigger is a time ("5s"), "asap", "available-now" or "realtime:15s"') from None

    def __str__(self) -> str:
        if self.kind == "available_now":
            return "available-now"
        if self.kind == "real_time":
            return f"realtime:{duration_words(self.interval_s)}"
        return duration_words(self.interval_s) if self.interval_s else "asap"


HAIR = 1e-4
"""Tolerance for rounding of a clock that counts from 1970, as a share of an interval."""


def next_trigger_s(started_s: float, interval_s: float) -> float:
    """Return the first multiple of the interval after `started_s`, at which Spark triggers; without an interval `started_s` itself.

    >>> next_trigger_s(10.0, 5.0), next_trigger_s(12.0, 5.0), next_trigger_s(12.0, 0.0)
    (15.0, 15.0, 12.0)
    """
    return interval_s * (math.floor(started_s / interval_s + HAIR) + 1) if interval_s else started_s


SHORTEST_LIMITED_S = 1.0
"""A query with a rate limit starts a batch every second, or less often by its trigger: Spark limits rows by batch."""


def paced_s(trigger: Trigger) -> float:
    """Return the seconds between two batches of a limited query that keeps up.

    >>> paced_s(Trigger()), paced_s(Trigger(interval_s=5.0))
    (1.0, 5.0)
    """
    return max(trigger.interval_s, SHORTEST_LIMITED_S)


def interval_of(trigger: Trigger, limit_rows_per_s: float | None) -> float:
    """Return the seconds between two batches of a query that keeps up, under its rate limit if it has one; 0 where a batch follows the last one at once.

    >>> interval_of(Trigger(), None), interval_of(Trigger(), 1000.0), interval_of(Trigger(interval_s=5.0), 1000.0)
    (0.0, 1.0, 5.0)
    """
    return trigger.interval_s if limit_rows_per_s is None else paced_s(trigger)


def rows_per_batch(trigger: Trigger, limit_rows_per_s: float) -> float:
    """Return the most rows that one batch takes.

    >>> rows_per_batch(Trigger(interval_s=5.0), 1000.0)
    5000.0
    """
    return limit_rows_per_s * paced_s(trigger)
