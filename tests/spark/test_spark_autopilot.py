import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ledgers import positions_in

from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.events.autopilot_events import Decided, PromiseBroken, RolledBack
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.steering_events import InstructionDone, InstructionGiven
from penstock.core.domain.instruction import Outcome
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.terms import Terms
from penstock.hindsight.verify import verify
from penstock.runtime.controller import Controller
from penstock.runtime.home import JobFolder
from penstock.runtime.steady_clock import SteadyClock
from penstock.spark.sink import pages
from penstock.stores.in_memory import MemoryStore
from penstock.stores.reader import HistoryReader

CODE = """
from pyspark.sql import functions as F

def looked_up(rows):
    wait = F.expr("reflect('java.util.concurrent.locks.LockSupport', 'parkNanos', 2000000L)")
    return rows.select("position", wait.alias("waited"))
"""
LOW, HIGH = 230.0, 720.0
"""Rows/s of some 2.2 ms each: one executor carries the low rate with ease, two do not carry the high one."""
RISES_S, FALLS_S, ENDS_S, BROKEN_BY_S = 85.0, 180.0, 290.0, 150.0
PROMISED_S = 12.0
RIPPLE, RIPPLE_S = 0.2, 40.0
"""No load stands still; what an executor carries is learnt from how its busyness moves with the load."""
JOB = f"""
name = "{{name}}"
master = "embedded"
checkpoint = "checkpoint"
limits = {{{{ min_executors = 1, max_executors = 4, start_executors = {{start}} }}}}
promises = {{{{ latency_p95 = "{PROMISED_S:g}s", recovery = "2m" }}}}
settings = {{{{ reading_interval_s = 2, reading_window_s = 6 }}}}
sources.events = {{{{ format = "trace", csv = "rate.csv", partitions = 12 }}}}
queries.looked_up = {{{{ function = "job.py:looked_up", trigger = "3s", sink = {{{{ format = "ledger", path = "ledger" }}}} }}}}
[autopilot]
mode = "active"
policy = "{{policy}}"
time_scale = 0.06
downtime = "5s"
"""


def rate_csv() -> str:
    """The low rate, the high one, and the low one again, a quarter of a minute from one to the other, with a ripple on it."""
    time_s = np.arange(0.0, ENDS_S + 60, 5.0)
    level = np.interp(time_s, [RISES_S, RISES_S + 15, FALLS_S, FALLS_S + 15], [LOW, HIGH, HIGH, LOW])
    rate = level * (1 + RIPPLE * np.sin(2 * np.pi * time_s / RIPPLE_S))
    return "t,rate\n" + "".join(f"{at_s:g},{rows:.1f}\n" for at_s, rows in zip(time_s, rate, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A job that ran as a user runs it: what its history tells, and the ledger it wrote."""

    readings: list[Reading]
    events: list[Event]
    outcomes: list[Outcome]
    ledger: Path

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def between(self, from_s: float, until_s: float) -> list[Reading]:
        return [reading for reading in self.readings if from_s <= reading.at_s < until_s]

    @property
    def busy_s(self) -> tuple[float, float]:
        """When the load was well above its low rate, first and last."""
        high = [reading.at_s for reading in self.readings if (reading.arrival_rows_per_s or 0.0) > (LOW + HIGH) / 2]
        return high[0], high[-1]

    @property
    def caught_up_s(self) -> float:
        return next(reading.at_s for reading in self.readings if reading.throughput_rows_per_s and reading.excess_lag_rows == 0)

    @property
    def executor_s(self) -> float:
        at_s = np.array([reading.at_s for reading in self.readings])
        return float(np.array([reading.executors_running for reading in self.readings])[:-1] @ np.diff(at_s))


def kept(readings: list[Reading]) -> float:
    """The share of readings whose latency is as promised."""
    known = [reading.latency.p95_s for reading in readings if reading.latency is not None]
    assert known
    return sum(each <= PROMISED_S for each in known) / len(known)


@pytest.fixture
def run_job(state_home: Path, cluster: Any, tmp_path: Path) -> Callable[..., Ran]:
    def run(name: str, policy: str, start: int, seconds: float) -> Ran:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "job.toml").write_text(JOB.format(name=name, policy=policy, start=start))
        (folder / "job.py").write_text(CODE)
        (folder / "rate.csv").write_text(rate_csv())
        with open(folder / "out.log", "wb") as log:
            command = [sys.executable, "-m", "penstock", "run", "job.toml", "--plain", "--for", f"{seconds:g}"]
            done = subprocess.run(command, cwd=folder, stdout=log, stderr=log, timeout=seconds + 180, check=False)
        printed = (folder / "out.log").read_text()
        assert done.returncode == 0, printed[-3000:]
        with HistoryReader.open(JobFolder(name).history) as reader:
            again = verify(reader)
            assert again.turns > seconds / 10 and again.first_difference is None, "replayed, it decides the same, byte for byte"
            events, outcomes = [row.event for row in reader.events()], [outcome for outcome, _ in reader.outcomes()]
            return Ran(readings=list(reader.readings()), events=events, outcomes=outcomes, ledger=folder / "ledger")

    return run


def assert_each_row_is_there_once(ledger: Path) -> int:
    """By batch: every page follows the one before it, and every position is in one of them. How many rows there are."""
    found = pages(ledger)
    assert [page["batch"] for page in found] == list(range(len(found)))
    positions = positions_in(ledger)
    assert positions == list(range(len(positions))), "none lost, none doubled"
    assert len(positions) == sum(int(page["rows"]) for page in found)
    return len(positions)


def assert_rescales_are_explained_and_charged(ran: Ran) -> None:
    decided = [event for event in ran.of(Decided) if event.effect == "asked"]
    given = [event for event in ran.of(InstructionGiven) if event.change.executors and event.reason.startswith("decided by")]
    assert given and decided
    for event in given:
        before = [each for each in decided if each.at_s <= event.at_s]
        assert before and before[-1].decision.executors == event.change.executors[1] and before[-1].decision.candidates, event
        assert all(each.refused is not None for each in before[-1].decision.candidates[:-1]), "every candidate that was passed over has its reason"
    done = {event.number for event in ran.of(InstructionDone)}
    costs = [outcome for outcome in ran.outcomes if outcome.done and outcome.number in done]
    assert costs and all(outcome.took_s > 0 and outcome.down_s is None for outcome in costs), "micro-batches are rescaled live: nothing stops"


def test_the_policy_asks_for_more_executors_where_one_cannot_carry_the_load_and_is_charged_what_that_takes(plant: Any) -> None:
    terms = Terms(
        limits=Limits(min_executors=1, max_executors=3, start_executors=1),
        promises=Promises(recovery_s=120.0),
        config=Config(reading_interval_s=1.0, reading_window_s=4.0, executors_timeout_s=60.0, gap_wait_s=4.0),
        autopilot=Autopilot(mode="active", policy="auto", time_scale=0.05, downtime_s=5.0),
    )
    assert plant.engine.pool.scale(1, timeout_s=60, wait_for_gap=lambda: None).done
    query = plant.query("job_q.py:looked_up", code=CODE, rate="constant(600)", partitions="12")
    plant.wait_commits(query, 1)
    memory = MemoryStore()
    controller = Controller(source=plant.engine, actuator=plant.engine, memory=memory, clock=SteadyClock(), terms=terms, declared=Configuration(executors=1))
    controller.start()
    try:
        plant.wait_until(lambda: "rescale_up" in controller.knowledge.learnt.live, what="a rescale that is done and charged")
    finally:
        controller.close()

    decided = next(event for event in memory.events if isinstance(event, Decided) and event.effect == "asked")
    wanted = decided.decision.executors
    assert decided.policy.startswith("auto:") and decided.decision.current.executors == 1 and wanted in (2, 3)
    # In a session that has just begun, an executor that came late may have been sent away before.
    given = next(event for event in memory.events if isinstance(event, InstructionGiven) and event.at_s >= decided.at_s)
    assert given.change.executors is not None and (given.change.executors[1], given.reason) == (wanted, f"decided by {decided.policy}")
    outcome = next(outcome for outcome, _ in memory.outcomes if outcome.number == given.number)
    assert outcome.done and outcome.took_s > 0 and outcome.down_s is None, "the job worked on meanwhile"
    learnt = controller.knowledge.learnt
    assert "rescale_up" in learnt.live and learnt.downtimes.learnt["rescale_up"].seen >= 1, "it is charged what it took"
    assert len(plant.engine.pool.running()) >= wanted and not query.failures
    plant.engine.stop_queries(30, lambda: False)
    assert assert_each_row_is_there_once(plant.ledger()) > 500


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_the_policy_follows_a_load_that_triples_and_falls_where_a_fixed_minimum_breaks_its_promise(run_job: Callable[..., Ran]) -> None:
    ran = run_job("pilot-daedalus", "daedalus", 2, ENDS_S)
    rose_s, fell_s = ran.busy_s
    most = max(reading.executors_running for reading in ran.between(rose_s, fell_s))
    static_s = 4 * (ran.readings[-1].at_s - ran.readings[0].at_s)
    steady = [*ran.between(ran.caught_up_s + 10, rose_s), *ran.between(rose_s + 60, fell_s), *ran.between(fell_s + 40, ran.readings[-1].at_s)]
    print(f"most {most} executors, last {ran.readings[-1].executors_running}, {ran.executor_s / static_s:.0%} of static 4, kept {kept(steady):.0%} when steady")

    assert most >= 3, "it rose with the load"
    assert ran.readings[-1].executors_running <= 2, "it fell with the load"
    assert ran.executor_s < 0.75 * static_s
    assert kept(steady) >= 0.9
    assert not ran.of(RolledBack)
    assert_rescales_are_explained_and_charged(ran)
    assert assert_each_row_is_there_once(ran.ledger) > 60_000

    fixed = run_job("pilot-fixed", "static", 1, BROKEN_BY_S)
    since_s = fixed.busy_s[0] + 25
    print(f"with one executor all the time: kept {kept(fixed.between(since_s, fixed.readings[-1].at_s)):.0%} while the load was high")
    assert kept(fixed.between(since_s, fixed.readings[-1].at_s)) < 0.5, "if one executor had been enough all the time, there was nothing to decide"
    assert any(event.promise == "latency p95" for event in fixed.of(PromiseBroken))
    assert assert_each_row_is_there_once(fixed.ledger) > 0
