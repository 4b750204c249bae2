"""How rows flow through a query: counted at commits in micro-batches, from live counts and the output in Real-Time Mode."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.core.domain.cadence import Cadence
from penstock.core.domain.reading import Quantiles
from penstock.core.monitor.facts import BatchFact, QueryFacts
from penstock.core.monitor.latency import Outputs, latency_of, latency_of_outputs, recent_outputs
from penstock.core.monitor.stages import executor_shares
from penstock.core.monitor.window import Samples, Window, rate_per_s, sampled, sampled_each


def waiting_rows(newest: float | None, processed: float | None, *, rate_rows_per_s: float | None = None, stale_s: float = 0.0) -> float | None:
    """Return the rows that have arrived and are not processed; unknown where either count is.

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
    """Return how long the oldest waiting row has waited, where the source reports it; else lag over arrival rate.

    >>> lag_seconds(300.0, 100.0, None)
    3.0
    """
    if oldest_waiting_s is not None:
        return oldest_waiting_s
    if lag_rows is None or arrival_rows_per_s is None:
        return None
    return lag_rows / arrival_rows_per_s if arrival_rows_per_s > 0 else (0.0 if lag_rows == 0 else None)


def healthy_lag_rows(arrival_rows_per_s: float, cadence: Cadence, batch_s: float) -> float:
    """Return the most a healthy query lags: what arrives during a cycle and the batch that takes it in.

    Lag swings between W*T and W*(max(i,T) + T) (PAPER-NOTES, "Healthy lag is not zero"). A healthy batch takes no longer than allowed, so T counts up to
    that.

    >>> cadence = Cadence(interval_s=5.0, longest_s=6.0)
    >>> healthy_lag_rows(100, cadence, batch_s=2), healthy_lag_rows(100, cadence, batch_s=20)
    (700.0, 1200.0)
    """
    healthy_s = min(batch_s, cadence.cycle_s)
    return float(arrival_rows_per_s * (max(cadence.interval_s, healthy_s) + healthy_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The part of a query's reading that depends on the mode it runs in."""

    throughput_rows_per_s: float | None
    lag_rows: float | None
    excess_lag_rows: float | None
    latency: Quantiles | None
    clock_skew_s: float | None
    busyness: float | None


def batched_flow(query: QueryFacts, window: Window | None, recent: Sequence[BatchFact], arrival: float | None, slots: int, cadence: Cadence) -> Flow:
    """Return the flow by the window of commits; `recent` are its batches and the last one, which in a stall lies before it.

    An idle query without any batch has processed nothing, and one for which nothing waits does not lag: both are known.
    """
    lag = waiting_rows(query.newest_rows, query.processed_rows)
    excess = 0.0 if lag == 0 else None
    if lag is not None and arrival is not None and recent:
        longest_s = max(batch.duration_s for batch in recent)
        excess = max(0.0, lag - healthy_lag_rows(arrival, cadence, longest_s))
    latency, skew_s = latency_of(window.batches) if window else (None, None)
    measured = window if window and window.length_s > 0 else None
    untouched = 0.0 if query.idle_s is not None and not recent else None
    task_time = sum(executor_shares(measured.batches)[0].values()) if measured else 0.0
    return Flow(
        throughput_rows_per_s=measured.rows / measured.length_s if measured else untouched,
        lag_rows=lag,
        excess_lag_rows=excess,
        latency=latency,
        clock_skew_s=skew_s,
        busyness=task_time / (slots * measured.length_s) if measured and slots else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """What is kept of a real-time query between two readings: what it read, together and by executor, and what it wrote."""

    read: Samples = ()
    executors: Mapping[str, Samples] = field(default_factory=dict)
    outputs: Outputs = ()


def followed(earlier: Live, query: QueryFacts, alive: Collection[str], at_s: float, window_s: float) -> Live:
    """Return what is known of the query after one more look, without executors that are gone."""
    counts = {executor_id: rows for executor_id, rows in query.executor_rows.items() if executor_id in alive}
    return Live(
        read=sampled(earlier.read, at_s, query.read_rows, window_s),
        executors=sampled_each(earlier.executors, at_s, counts, window_s),
        outputs=recent_outputs(earlier.outputs, at_s, query.outputs, window_s),
    )


def continuous_flow(query: QueryFacts, live: Live, recent: Sequence[BatchFact], arrival: float | None, window_s: float) -> Flow:
    """Return the flow by live counts and the output; of the `recent` batches only the pauses before them count.

    Tasks that run all the time are busy at any load, so busyness is unknown. Rows that waited at a boundary are no excess.
    """
    throughput = rate_per_s(live.read, window_s)
    lag = waiting_rows(query.newest_rows, query.processed_rows, rate_rows_per_s=throughput, stale_s=query.stale_s)
    longest_s = max((batch.pause_s for batch in recent if batch.pause_s is not None), default=0.0)
    latency, skew_s = latency_of_outputs([sample for _, sample in live.outputs])
    return Flow(
        throughput_rows_per_s=throughput,
        lag_rows=lag,
        excess_lag_rows=None if lag is None or arrival is None else max(0.0, lag - arrival * longest_s),
        latency=latency,
        clock_skew_s=skew_s,
        busyness=None,
    )


def executor_rates(live: Live, window_s: float) -> dict[str, float | None]:
    """Return rows each executor read per second; unknown for one that was looked at only once."""
    return {executor_id: rate_per_s(samples, window_s) for executor_id, samples in live.executors.items()}
