"""Latency at the sink, from a sample of the output."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.core.domain.reading import Quantiles
from penstock.core.monitor.facts import OutputSample
from penstock.core.monitor.latency import SKEW_TOLERANCE_S

Outputs = tuple[tuple[float, OutputSample], ...]
"""Output records, each with when it was told, in seconds."""


def recent_outputs(earlier: Outputs, at_s: float, new: Sequence[OutputSample], window_s: float) -> Outputs:
    """The records written within `window_s` of the newest, and told as lately: a sink that fell silent has no latency, nor has one stray stamp the last word.

    >>> first = recent_outputs((), 10.0, [OutputSample(wall_s=100.0, latency_s=0.1, rows=1.0)], window_s=15.0)
    >>> [told_s for told_s, _ in recent_outputs(first, 20.0, [OutputSample(wall_s=110.0, latency_s=0.1, rows=1.0)], window_s=15.0)]
    [10.0, 20.0]
    >>> recent_outputs(first, 30.0, [], window_s=15.0)
    ()
    """
    told = [(told_s, sample) for told_s, sample in earlier if at_s - told_s <= window_s] + [(at_s, sample) for sample in new]
    newest_s = max((sample.wall_s for _, sample in told), default=0.0)
    return tuple(each for each in told if newest_s - each[1].wall_s <= window_s)


def latency_of_outputs(samples: Sequence[OutputSample]) -> tuple[Quantiles | None, float | None]:
    """Quantiles of the latencies, each weighted by the records it stands for, and the clock skew if some result was written before its input arrived.

    A quantile is the least latency that the given share of the records do not exceed.

    >>> seen = [OutputSample(wall_s=9.0, latency_s=latency_s, rows=rows) for latency_s, rows in ((0.03, 90), (0.05, 8), (1.2, 2))]
    >>> latency_of_outputs(seen)
    (Quantiles(p50_s=0.03, p95_s=0.05, p99_s=1.2), None)
    >>> latency_of_outputs([*seen, OutputSample(wall_s=9.0, latency_s=-2.0, rows=1)])
    (None, 2.0)
    """
    known = sorted((sample.latency_s, sample.rows) for sample in samples if sample.rows > 0)
    if not known:
        return None, None
    if known[0][0] < -SKEW_TOLERANCE_S:
        return None, -known[0][0]
    up_to = np.cumsum([rows for _, rows in known])
    places = np.searchsorted(up_to, np.array([0.5, 0.95, 0.99]) * up_to[-1])
    p50, p95, p99 = (round(max(0.0, known[place][0]), 6) for place in places)
    return Quantiles(p50_s=p50, p95_s=p95, p99_s=p99), None
