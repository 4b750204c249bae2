"""Lag, and how much of it a healthy micro-batch query has anyway."""

from __future__ import annotations


def waiting_rows(newest: float | None, processed: float | None, *, rate_rows_per_s: float | None = None, stale_s: float = 0.0) -> float | None:
    """The rows that have arrived and are not processed; unknown where either count is.

    A processed count that is `stale_s` old is moved on by what was processed since, at the given rate; the lag is never below 0.

    >>> waiting_rows(1000.0, 700.0)
    300.0
    >>> waiting_rows(1000.0, 700.0, rate_rows_per_s=400.0, stale_s=0.5)
    100.0
    """
    if newest is None or processed is None:
        return None
    return max(0.0, newest - processed - (rate_rows_per_s or 0.0) * stale_s)


def lag_seconds(lag_rows: float | None, arrival_rows_per_s: float | None, oldest_waiting_s: float | None) -> float | None:
    """How long the oldest waiting row has waited, where the source tells; else lag over arrival rate.

    >>> lag_seconds(300.0, 100.0, None)
    3.0
    """
    if oldest_waiting_s is not None:
        return oldest_waiting_s
    if lag_rows is None or arrival_rows_per_s is None:
        return None
    return lag_rows / arrival_rows_per_s if arrival_rows_per_s > 0 else (0.0 if lag_rows == 0 else None)


def healthy_lag_rows(arrival_rows_per_s: float, interval_s: float, batch_s: float) -> float:
    """The most a healthy query lags: what arrives during a trigger interval and the batch that takes it in.

    Lag swings between W*T and W*(i+T) (PAPER-NOTES, "Healthy lag is not zero"). A healthy batch takes no longer than the interval,
    so T counts up to i; without an interval, batches follow each other and the most is W*2T.

    >>> healthy_lag_rows(100, interval_s=5, batch_s=2)
    700.0
    >>> healthy_lag_rows(100, interval_s=5, batch_s=20)
    1000.0
    >>> healthy_lag_rows(100, interval_s=0, batch_s=2)
    400.0
    """
    if interval_s <= 0:
        return float(arrival_rows_per_s * 2 * batch_s)
    return float(arrival_rows_per_s * (interval_s + min(batch_s, interval_s)))
