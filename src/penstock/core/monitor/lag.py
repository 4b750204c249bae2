"""Lag, and how much of it is more than a healthy micro-batch query has anyway."""

from __future__ import annotations


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
