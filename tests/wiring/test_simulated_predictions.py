"""Predictions made in simulated runs, held against what truly happened there; and policies that decide by what an engine or a graph tells."""

import math
from dataclasses import replace

import numpy as np
import pytest
from simulated_graph import BATCHES as SHARED
from simulated_graph import flowing, in_batches

from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.events.autopilot import Decided, Graded, PhaseFailed
from penstock.core.domain.events.run import TurnFailed
from penstock.core.domain.fault import Fault
from penstock.core.domain.job import Limits, Promises
from penstock.core.knowledge.terms import Terms
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.simulator.graph import Simulable
from penstock.wiring.setup import Setup, with_downtimes
from penstock.wiring.simulation import Simulated, simulate

BATCHES = MicroBatchSettings(noise=0.05)


def wave(rows_per_s: float, share: float, length_s: float, period_s: float = 3600.0) -> Arrivals:
    time_s = np.arange(0.0, length_s + 1, 20.0)
    return Arrivals.through(time_s, rows_per_s * (1.0 + share * np.sin(2 * math.pi * time_s / period_s)))


def run(policy: str, engine: Simulable, load: Arrivals, *, start: int, faults: tuple[Fault, ...] = ()) -> Simulated:
    """The run, in which nothing failed but what was meant to."""
    terms = Terms(
        limits=Limits(min_executors=1, max_executors=12, start_executors=start),
        promises=Promises(recovery_s=600.0, latency_p95_s=10.0),
        config=Config(reading_interval_s=15.0, reading_window_s=15.0),
        autopilot=with_downtimes(Autopilot(mode="active", policy=policy, rollback=False), engine, faults),
    )
    done = simulate(Setup(load=load, engine=engine, terms=terms, faults=faults))
    assert [event for event in done.events if isinstance(event, TurnFailed | PhaseFailed)] == []
    return done


def test_the_recovery_of_micro_batches_is_predicted_batch_by_batch() -> None:
    faults = tuple(Fault(at_s=900.0 + 617.3 * number) for number in range(6))
    failures = run("static", BATCHES, wave(15_000.0, 0.3, 4800.0), start=8, faults=faults).failures
    pairs = [(each.predicted_s, each.measured_s) for each in failures if each.predicted_s is not None and each.measured_s is not None]
    off_s = [abs(predicted_s - measured_s) for predicted_s, measured_s in pairs]
    assert len(pairs) == 6 and max(measured_s for _, measured_s in pairs) < 10.0
    assert float(np.median(off_s)) < 4.0 and max(off_s) < 15.0, "as a fluid it would be four times as long"


@pytest.mark.parametrize("up_s", [5.0, 60.0])
def test_what_executors_take_to_come_is_no_part_of_a_failure_in_micro_batches(up_s: float) -> None:
    faults = (Fault(at_s=901.0), Fault(at_s=1802.0))
    failures = run("static", replace(BATCHES, up_s=up_s), wave(15_000.0, 0.0, 2400.0), start=8, faults=faults).failures
    assert all(each.predicted_s is not None and each.measured_s is not None and abs(each.predicted_s - each.measured_s) < 5.0 for each in failures)


@pytest.mark.parametrize("timeout_s", [10.0, 40.0])
def test_the_first_prediction_knows_when_a_failure_is_noticed(timeout_s: float) -> None:
    flow = ContinuousSettings(capacity_rows_per_s=5000.0, downtime_s=30.0, timeout_s=timeout_s)
    batches = replace(BATCHES, timeout_s=timeout_s)
    for engine in (flow, batches):
        (failure,) = run("static", engine, wave(15_000.0, 0.0, 1800.0), start=8, faults=(Fault(at_s=901.0, kind="freeze"),)).failures
        assert failure.predicted_s is not None and failure.measured_s is not None
        assert 0.6 < failure.predicted_s / failure.measured_s < 1.6


LEARNT_S = 1200.0
"""By then batches of several sizes have been seen; before that a law fitted to one size is asked about another."""


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.03, 0.1])
def test_latencies_of_micro_batches_come_within_their_bounds(noise: float) -> None:
    graded = [
        event
        for event in run("auto", replace(BATCHES, noise=noise), wave(15_000.0, 0.4, 3600.0), start=8).events
        if isinstance(event, Graded) and event.kind == "latency" and event.made_s >= LEARNT_S
    ]
    within = sum(event.low <= event.actual <= event.high for event in graded) / len(graded)
    assert len(graded) > 20 and within >= 0.8
    assert np.mean([(event.high - event.low) / event.predicted for event in graded]) < 0.2, "bounds that say something"


def test_ds2_decides_by_the_busy_time_of_a_continuous_job() -> None:
    done = run("ds2", ContinuousSettings(capacity_rows_per_s=5000.0), wave(30_000.0, 0.2, 3600.0), start=3)
    decided = [event for event in done.events if isinstance(event, Decided)]
    assert any(event.decision.direction == "up" for event in decided) and done.report.rescales >= 1
    assert done.record.seconds().workers[-1] == pytest.approx(30_000.0 / 0.7 / 5000.0, abs=2.0)


@pytest.mark.parametrize("graph", [in_batches(job=replace(SHARED, partitions=24)), flowing()], ids=["micro-batch", "continuous"])
@pytest.mark.parametrize("policy", ["hpa", "ds2", "daedalus"])
def test_policies_steer_a_graph_of_queries(graph: Simulable, policy: str) -> None:
    rising = Arrivals.through((0.0, 600.0, 900.0, 1500.0), (1000.0, 1000.0, 3000.0, 3000.0))
    done = run(policy, graph, rising, start=4)
    assert set(done.queries) == {"clicks", "views", "alerts"} and {len(reading.queries) for reading in done.readings} == {3}
    assert done.record.seconds().workers.max() > 4.0 and done.report.rescales >= 1, "three times the load takes more than there were"
    assert all(report.latency is not None and report.processed_rows for report in done.queries.values())


@pytest.mark.parametrize("policy", ["daedalus", "auto"])
def test_a_job_that_is_nearly_idle_gives_its_executors_away(policy: str) -> None:
    done = run(policy, ContinuousSettings(capacity_rows_per_s=9000.0), wave(1200.0, 0.5, 1800.0), start=8)
    assert done.record.seconds().workers[600:].max() <= 2.0, "of eight, at two percent of what they carry"
