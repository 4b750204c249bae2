"""The cadence of micro-batches: when they start, and how long one may take."""

from dataclasses import dataclass

from penstock.core.domain.job_spec import PROMISED_SHARE, Promises
from penstock.core.domain.trigger import Trigger, interval_of

INTERVALS, LEAST_S = 2.0, 10.0
"""Without a promise a batch may take this many trigger intervals, and at least this many seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cadence:
    """`interval_s` is that of the trigger, 0 where a batch follows the last one at once; `longest_s` is T*, the longest batch allowed.

    PAPER-NOTES "Micro-batch capacity". A batch that outlasts its interval loses nothing: the next one starts at once and is larger. What bounds a batch is
    the promised latency L: a row waits up to a cycle max(i,T) for its batch, and then T, so p95 is 0.95*max(i,T) + T.
    """

    interval_s: float
    longest_s: float
    promised: bool = True
    """Whether a promised latency sets the longest batch, and not a default."""

    def __post_init__(self) -> None:
        if not self.interval_s >= 0:
            raise ValueError(f"a trigger interval is 0 s or more, not {self.interval_s:g} s")

    @property
    def cycle_s(self) -> float:
        """From one batch to the next, if each takes the longest time allowed."""
        return max(self.interval_s, self.longest_s)

    @property
    def apart_s(self) -> float:
        """The trigger interval, or where there is none the longest time between two batches."""
        return self.interval_s or self.longest_s

    @property
    def latency_s(self) -> float:
        """The 95th percentile of the latency of the longest batch; the promised one, where one is promised."""
        return batch_latency_s(self.cycle_s, self.longest_s)


def batch_latency_s(waited_s: float, batch_s: float) -> float:
    """Return the 95th percentile of the latency of rows that arrived evenly over `waited_s` and are processed in one batch.

    >>> batch_latency_s(2.0, 4.0)
    5.9
    """
    return PROMISED_SHARE * waited_s + batch_s


def cadence_of(trigger: Trigger, promises: Promises, *, rate_limit_rows_per_s: float | None = None, longest_batch_s: float = 0.0) -> Cadence:
    """Return the cadence that a trigger and a promise allow; a rate limit paces a query that has no interval.

    Without a promise a batch may take `longest_batch_s`; where that is 0, the larger of two intervals and 10 s.

    >>> cadence_of(Trigger(interval_s=2.0), Promises(latency_p95_s=7.8)), cadence_of(Trigger(interval_s=5.0), Promises(latency_p95_s=7.8)).longest_s
    (Cadence(interval_s=2.0, longest_s=4.0, promised=True), 3.05)
    >>> cadence_of(Trigger(), Promises()).longest_s, cadence_of(Trigger(interval_s=30.0), Promises()).longest_s
    (10.0, 60.0)
    """
    interval_s = interval_of(trigger, rate_limit_rows_per_s)
    if trigger.kind == "real_time":
        return Cadence(interval_s=interval_s, longest_s=interval_s)
    if promises.latency_p95_s is None:
        return Cadence(interval_s=interval_s, longest_s=longest_batch_s or max(INTERVALS * interval_s, LEAST_S), promised=False)
    after_wait_s = promises.latency_p95_s - PROMISED_SHARE * interval_s
    return Cadence(interval_s=interval_s, longest_s=after_wait_s if after_wait_s <= interval_s else promises.latency_p95_s / (1.0 + PROMISED_SHARE))
