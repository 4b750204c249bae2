"""Readings of real runs of the demonstration, and of a simulated job whose rows become dearer: what is believed of them makes sense at every moment."""

import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from penstock.core.analyze.analyze import analyze
from penstock.core.analyze.assess import assess
from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.decision import Decision
from penstock.core.domain.events.autopilot_events import Decided, TargetInfeasible
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.policy import Need
from penstock.core.knowledge.terms import Terms
from penstock.core.loop import turn
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.policies.registry import policy_of
from penstock.stores.codec import decode

RECORDED = Path(__file__).parent.parent / "recorded"
NEEDS: frozenset[Need] = frozenset({"load", "capacity", "latency", "forecast"})
TERMS = Terms(
    limits=Limits(max_executors=4), promises=Promises(latency_p95_s=8.0), config=Config(reading_interval_s=2.0, reading_window_s=4.0),
    autopilot=Autopilot(mode="shadow", time_scale=0.1),
)  # fmt: skip


def readings(name: str) -> list[Reading]:
    lines = gzip.decompress((RECORDED / f"{name}.jsonl.gz").read_bytes()).decode().splitlines()
    return [decode(Reading, line) for line in lines]


def lived(name: str) -> Iterator[tuple[Reading, Assessment, tuple[object, ...]]]:
    """Yield each reading with what is known then, and what was said."""
    knowledge = Knowledge(declared=Configuration(executors=1), desired=Configuration(executors=1))
    for reading in readings(name):
        inputs = Inputs(at_s=reading.at_s, reading=reading)
        done = analyze(replace(knowledge, last=reading, desired=reading.configuration), inputs, TERMS, NEEDS, decides=False)
        knowledge = done.knowledge
        yield reading, assess(knowledge, None, reading.at_s, TERMS, NEEDS, range(1, 5)), done.events


@pytest.mark.parametrize("name", sorted(path.name.removesuffix(".jsonl.gz") for path in RECORDED.iterdir()))
def test_what_is_believed_of_a_recorded_run_makes_sense_at_every_moment(name: str) -> None:
    known = []
    for reading, seen, events in lived(name):
        assert not [event for event in events if isinstance(event, TargetInfeasible) and event.target == "throughput"], "it carried its load"
        capacity, saturated = seen.capacity(max(1, reading.executors_running)), seen.saturated(max(1, reading.executors_running))
        if capacity is None or saturated is None or not reading.active:
            continue
        known.append((reading.at_s, seen))
        batch, done = reading.active[0].batch, reading.throughput_rows_per_s or 0.0
        assert saturated >= done * (1 - 1e-9)
        if batch is not None and batch.total_s <= seen.cadence.longest_s:
            assert capacity >= done * (1 - 1e-9)
    (begun_s, _), (ended_s, last) = known[0], known[-1]
    assert ended_s - begun_s > 90.0
    late = [seen.capacities[4].value for at_s, seen in known if at_s > ended_s - 60.0 and 4 in seen.capacities]
    assert max(late) < 2.0 * min(late), "four executors are not believed to carry half as much a minute later"
    assert 800.0 < last.capacities[4].value < 6000.0, "neither nothing nor wonders: they have processed more than 1,000 rows/s"


@pytest.mark.parametrize("name", ["demo_quiet", "demo_busy"])
def test_a_policy_in_shadow_on_a_recorded_run_never_asks_for_all_and_comes_down_with_the_load(name: str) -> None:
    terms = replace(TERMS, autopilot=replace(TERMS.autopilot, policy="auto"))
    knowledge, decisions = Knowledge(declared=Configuration(executors=1), desired=Configuration(executors=1)), list[Decision]()
    for reading in readings(name):
        done = turn(knowledge, Inputs(at_s=reading.at_s, reading=reading), terms, policy_of(terms))
        knowledge = done.knowledge
        decisions += [event.decision for event in done.events if isinstance(event, Decided)]
    assert "none_passes" not in {each.why.code for each in decisions}
    assert max(each.executors for each in decisions) == 3 and decisions[-1].executors <= 2


def test_what_tasks_take_whatever_their_rows_is_not_the_cost_of_a_row_when_executors_come_and_go() -> None:
    """12 tasks of 0.07 s are most of a small batch, and half as much of it on two executors. Rows of 1.1 ms: batches of 400 to 2,100 took 1.4 to 3.3 s."""
    known = [(reading.at_s, seen.saturated(1)) for reading, seen, _ in lived("demo_quiet") if 1 in seen.capacities]
    late = [rows_per_s for at_s, rows_per_s in known if at_s > known[0][0] + 110.0]
    assert len(late) > 30 and all(rows_per_s is not None and 750.0 < rows_per_s < 1050.0 for rows_per_s in late)


def test_a_capacity_follows_rows_that_become_dearer_by_four_fifths_in_five_minutes() -> None:
    """The simulated job: rows of 1.25 ms that cost nine times as much more in an hour, a skew of 1.1, an overhead of 0.5 s."""
    begun_s, errors = None, []
    for reading, seen, _ in lived("simulated_drift"):
        begun_s = reading.at_s if begun_s is None else begun_s
        law = BatchLaw(overhead_s=0.5, row_s=0.00125 * (1.0 + 9.0 * (reading.at_s - begun_s) / 3600.0), partitions=12, skew=1.1)
        if reading.at_s - begun_s > 120.0 and 4 in seen.capacities:
            errors.append(abs(seen.capacities[4].value / law.capacity_rows_per_s(4, seen.cadence) - 1.0))
    assert len(errors) > 90 and median(errors) < 0.2 and max(errors) < 0.4
