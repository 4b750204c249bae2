"""How rows flow through a query: what is measured in one way in micro-batches and in another in Real-Time Mode."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.domain.reading import Quantiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The part of a query's reading that depends on the mode it runs in."""

    throughput_rows_per_s: float | None
    lag_rows: float | None
    excess_lag_rows: float | None
    latency: Quantiles | None
    clock_skew_s: float | None
    busyness: float | None
