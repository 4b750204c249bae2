"""What every Actuator keeps to, seen through the Source of the same plant.

A new plant joins by the name of a fixture in PLANTS: pytest.param("spark_plant", marks=pytest.mark.spark). It has two executors, may have
three, and runs the query "q".
"""

import queue
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import pytest
from changes import changing, scaling

from penstock.core.config import Config
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.trigger import Trigger
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.ports import Actuator, Source
from penstock.runtime.fakes import FakeClock, FakePlant
from penstock.simulator.continuous import ContinuousEngine
from penstock.simulator.engine import Engine
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine
from penstock.simulator.plant import SimulatedClock, SimulatedPlant

PLANTS: list[Any] = ["fake_plant", "continuous_plant", "micro_batch_plant", pytest.param("spark_plant", marks=pytest.mark.spark)]
PATIENCE_S = 120.0


class Plant(Source, Actuator, Protocol):
    """Both ports of one plant."""


@pytest.fixture
def fake_plant() -> Plant:
    return FakePlant(FakeClock(), executors=2, triggers={"q": Trigger(interval_s=1.0)})


class SelfWindingPlant(SimulatedPlant):
    """A simulated plant for which a minute passes whenever something was asked of it."""

    def __init__(self, engine: Engine, clock: SimulatedClock) -> None:
        super().__init__(engine, clock, Config())
        self._winding = clock

    def perform(self, instruction: Instruction, report: Callable[[Outcome], None]) -> None:
        super().perform(instruction, report)
        self._winding.wait(60.0)
        self.advance()


@pytest.fixture
def continuous_plant() -> Plant:
    settings = ContinuousSettings(capacity_rows_per_s=1000.0, query="q")
    return SelfWindingPlant(ContinuousEngine(settings, Load.of(Arrivals.constant(500.0), 0.0), executors=2), SimulatedClock())


@pytest.fixture
def micro_batch_plant() -> Plant:
    settings = MicroBatchSettings(query="q")
    return SelfWindingPlant(MicroBatchEngine(settings, Load.of(Arrivals.constant(500.0), 0.0), executors=2), SimulatedClock())


@pytest.fixture(params=PLANTS)
def plant(request: pytest.FixtureRequest) -> Plant:
    made: Plant = request.getfixturevalue(request.param)
    return made


def carried_out(plant: Plant, instruction: Instruction) -> Outcome:
    """The outcome, which comes once, from any thread."""
    outcomes: queue.Queue[Outcome] = queue.Queue()
    plant.perform(instruction, outcomes.put)
    outcome = outcomes.get(timeout=PATIENCE_S)
    assert outcomes.empty()
    return outcome


@pytest.mark.parametrize("executors", [3, 1, 2])
def test_executors_become_as_many_as_asked(plant: Plant, executors: int) -> None:
    outcome = carried_out(plant, scaling(5, 0, executors))
    assert (outcome.number, outcome.done) == (5, True) and outcome.took_s >= 0
    reading = plant.read()
    assert reading.executors_requested == reading.executors_running == executors


def test_a_query_gets_its_new_settings_and_keeps_running(plant: Plant) -> None:
    (before,) = plant.read().queries
    trigger = replace(before.trigger, interval_s=before.trigger.interval_s + 1.0)
    outcome = carried_out(plant, changing(6, "q", trigger=(before.trigger, trigger), rate_limit=(before.rate_limit_rows_per_s, 400.0)))
    assert (outcome.number, outcome.done) == (6, True)
    (query,) = plant.read().queries
    assert (query.name, query.state, query.trigger, query.rate_limit_rows_per_s) == ("q", "running", trigger, 400.0)


def test_what_cannot_be_done_is_an_outcome_with_a_reason_and_changes_nothing(plant: Plant) -> None:
    before = plant.read()
    outcome = carried_out(plant, changing(7, "no such query", trigger=(Trigger(), Trigger(interval_s=2.0))))
    assert (outcome.number, outcome.done) == (7, False) and outcome.reason
    after = plant.read()
    assert after.executors_requested == before.executors_requested
    assert [query.trigger for query in after.queries] == [query.trigger for query in before.queries]
