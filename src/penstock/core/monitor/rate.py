"""The rate of a counter that is read now and then, sometimes twice in an instant."""

from __future__ import annotations

from collections.abc import Mapping

Samples = tuple[tuple[float, float], ...]
"""When a counter was read, in seconds, and what it showed; the newest comes last."""


def sampled(earlier: Samples, at_s: float, count: float | None, least_s: float) -> Samples:
    """The samples with one more, without those that no rate will need again; none if the counter does not tell.

    A counter that fell has begun anew, as in a new application: what it showed before is forgotten.

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


def sampled_each(earlier: Mapping[str, Samples], at_s: float, counts: Mapping[str, float | None], least_s: float) -> dict[str, Samples]:
    """The samples of several counters, each with one more; those of counters that are gone are dropped."""
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
