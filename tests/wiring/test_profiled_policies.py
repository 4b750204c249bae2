from collections.abc import Callable
from dataclasses import replace

import pytest
from laws import filling

from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.events.autopilot_events import Decided, PhaseFailed
from penstock.core.domain.events.run_events import TurnFailed
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.profile import ProfileSeen
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.terms import Terms
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.wiring.setup import Setup
from penstock.wiring.simulation import Simulated, simulate

pytestmark = pytest.mark.slow
EACH_ROWS_PER_S = 5000.0
LAW = BatchLaw(overhead_s=0.5, row_s=0.0002, partitions=24)


def claims(carried: Callable[[int], float]) -> tuple[ProfileSeen, ...]:
    """A profile of a job whose executors carry these rows/s."""
    return tuple(
        ProfileSeen(executors=executors, rate_rows_per_s=share * carried(executors), latency_s=0.3 if share < 1 else 60.0, valid=share < 1)
        for executors in (1, 3, 6, 9, 12)
        for share in (0.3, 0.6, 0.9, 1.02)
    )


def setup(policy: str, load_rows_per_s: float, profile: tuple[ProfileSeen, ...], seconds: float = 3600.0) -> Setup:
    return Setup(
        load=Arrivals.through((0.0, seconds), (load_rows_per_s, load_rows_per_s)),
        engine=ContinuousSettings(capacity_rows_per_s=EACH_ROWS_PER_S),
        terms=Terms(
            limits=Limits(min_executors=1, max_executors=12),
            promises=Promises(recovery_s=600.0, latency_p95_s=2.0),
            config=Config(reading_interval_s=15.0, reading_window_s=15.0),
            autopilot=Autopilot(mode="active", policy=policy, downtime_s=30.0, rollback=False),
            profile=profile,
        ),
    )


def executor_counts(run: Simulated) -> list[int]:
    assert [event for event in run.events if isinstance(event, TurnFailed | PhaseFailed)] == []
    return [rescale.after for rescale in run.record.rescales]


@pytest.mark.parametrize(("policy", "within_s"), [("phoebe", 1200.0), ("auto", 400.0)])
def test_overload_after_a_rescale_is_learnt_and_left(policy: str, within_s: float) -> None:
    """By Phoebe at its next decision but one, as it waits for a period of uptime; by the default when the job should have recovered."""
    run = simulate(setup(policy, 28_000.0, claims(lambda executors: 2 * EACH_ROWS_PER_S * executors)))
    first, second = run.record.rescales[:2]
    assert first.after * EACH_ROWS_PER_S < 28_000.0 < second.after * EACH_ROWS_PER_S and second.asked_s - first.asked_s <= within_s
    assert min(executor_counts(run)[1:]) * EACH_ROWS_PER_S > 28_000.0, "it does not come back to executors that it knows to be too few"
    lag_rows = run.record.seconds().lag_rows
    assert lag_rows[-1] < (28_000.0 if policy == "auto" else 0.7 * lag_rows.max())


def test_a_true_profile_is_left_as_it_is() -> None:
    run = simulate(setup("phoebe", 28_000.0, claims(lambda executors: EACH_ROWS_PER_S * executors), seconds=1800.0))
    (decided,) = [event.decision for event in run.events if isinstance(event, Decided) and event.decision.why.code == "smallest_that_holds"][:1]
    assert decided.executors == 6 and executor_counts(run) == [6]


@pytest.mark.parametrize("policy", ["phoebe", "twres"])
def test_executors_of_micro_batches_differ_by_waves(policy: str) -> None:
    """24 tasks of 200 us a row at an interval of 5 s, of which 0.5 s are overhead: 27,000 rows/s at 6 and 7 executors, 36,000 from 8 on."""
    engine = MicroBatchSettings(overhead_s=LAW.overhead_s, row_s=LAW.row_s, partitions=LAW.partitions, trigger=Trigger(interval_s=5.0), noise=0.03)
    given = replace(setup(policy, 29_000.0, claims(lambda executors: LAW.capacity_rows_per_s(executors, filling(5.0))), seconds=1500.0), engine=engine)
    lenient = replace(given.terms.autopilot, parameters={"latency_limit_s": 60.0}) if policy == "twres" else given.terms.autopilot
    terms = replace(given.terms, autopilot=lenient, promises=Promises(recovery_s=600.0, latency_p95_s=10.0))
    assert executor_counts(simulate(replace(given, terms=terms))) == [8]
