"""Windows that end at commits, and rates from samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.core.monitor.facts import BatchFact


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The batches committed in (start_s, end_s]."""

    start_s: float
    end_s: float
    batches: tuple[BatchFact, ...]

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s

    @property
    def rows(self) -> float:
        return sum(batch.rows for batch in self.batches)


def window_of(batches: Sequence[BatchFact], idle_s: float | None, at_s: float, interval_s: float, wanted_s: float) -> Window | None:
    """Return the newest window at least `wanted_s` long; from the first commit if less is known, or around the only batch; None before that.

    An idle query (nothing to read) is taken up to when it said so. A commit that is long overdue means a stall: then the window runs on to now,
    so that the throughput falls instead of staying at its last value.
    """
    if not batches:
        return None
    end_s = max(batches[-1].committed_s, idle_s or 0.0)
    if at_s - end_s > 2 * max(interval_s, batches[-1].duration_s) + 1.0:
        end_s = at_s
    starts = [batch.committed_s for batch in batches if batch.committed_s <= end_s - wanted_s]
    first_s = batches[0].started_s if len(batches) == 1 else batches[0].committed_s
    start_s = starts[-1] if starts else first_s
    if end_s - start_s > 2 * wanted_s and not any(start_s < batch.committed_s for batch in batches):
        start_s = end_s - wanted_s
    inside = tuple(batch for batch in batches if start_s < batch.committed_s <= end_s)
    return Window(start_s=start_s, end_s=end_s, batches=inside)


Samples = tuple[tuple[float, float], ...]
"""When a counter was read, in seconds, and what it showed; the newest comes last."""


def sampled(earlier: Samples, at_s: float, count: float | None, least_s: float) -> Samples:
    """Return the samples with one more, without those that no rate needs again; none if the counter is unknown.

    A counter that falls has restarted, as in a new application: its earlier samples are dropped.

    >>> sampled(((0.0, 700.0), (5.0, 900.0)), at_s=10.0, count=40.0, least_s=15.0)
    ((10.0, 40.0),)
    """
    if count is None:
        return ()
    if not earlier or count < earlier[-1][1]:
        return ((at_s, count),)
    newest_old = 0
    for place, (then_s, _) in enumerate(earlier):
        if at_s - then_s >= least_s:
            newest_old = place
    return (*[sample for sample in earlier[newest_old:] if at_s > sample[0]], (at_s, count))


def counted(earlier: Samples, at_s: float, count: float | None, since_s: float) -> Samples:
    """Return all samples of a counter since a time, with one more; none if the counter is unknown or has restarted."""
    if count is None:
        return ()
    known = earlier if earlier and count >= earlier[-1][1] else ()
    return (*[sample for sample in known if since_s <= sample[0] < at_s], (at_s, count))


def grown(samples: Samples, from_s: float, end_s: float) -> float:
    """Return by how much a counter grew in a span, evenly between its samples; 0 outside of them."""
    times, counts = [sample[0] for sample in samples], [sample[1] for sample in samples]
    return float(np.interp(end_s, times, counts) - np.interp(from_s, times, counts)) if samples else 0.0


def sampled_each(earlier: Mapping[str, Samples], at_s: float, counts: Mapping[str, float | None], least_s: float) -> dict[str, Samples]:
    """Return the samples of several counters, each with one more; those of counters that are gone are dropped."""
    return {name: sampled(earlier.get(name, ()), at_s, count, least_s) for name, count in counts.items()}


def rate_per_s(samples: Samples, least_s: float) -> float | None:
    """Growth per second up to the newest sample, since the one before it that is at least `least_s` older, else since the oldest.

    A counter of whole rows that is read twice within a millisecond has grown by 0 or by 1: over so short a time neither is a rate.

    >>> rate_per_s(((0.0, 0.0), (9.999, 999.0), (10.0, 1000.0)), least_s=5.0)
    100.0
    """
    if len(samples) < 2:
        return None
    now_s, now = samples[-1]
    place = len(samples) - 2
    while place > 0 and now_s - samples[place][0] < least_s:
        place -= 1
    then_s, then = samples[place]
    return max(0.0, (now - then) / (now_s - then_s))
