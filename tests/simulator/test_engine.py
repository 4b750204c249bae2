from collections.abc import Callable

import pytest
from changes import changing, rescaled
from planned import terms

from penstock.core.config import Config
from penstock.core.domain.configuration import Change
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.steering_events import InstructionFailed, InstructionGiven
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.loop import turn
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.continuous import ContinuousEngine
from penstock.simulator.engine import Engine, alone
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine
from penstock.simulator.plant import SimulatedClock, SimulatedPlant

LOAD = Load.of(Arrivals.constant(100.0), 0.0)


@pytest.mark.parametrize(
    "made",
    [
        lambda: MicroBatchEngine(MicroBatchSettings(), LOAD, executors=2),
        lambda: ContinuousEngine(ContinuousSettings(capacity_rows_per_s=500.0), LOAD, executors=2),
    ],
    ids=["micro-batch", "continuous"],
)
def test_a_knob_that_is_not_simulated_is_refused_and_not_asked_for_again(made: Callable[[], Engine]) -> None:
    clock = SimulatedClock()
    plant = SimulatedPlant(made(), clock, Config())
    now = plant.read().configuration
    knowledge, outcomes, events = Knowledge(declared=now, desired=now.having("kept-share:query", 0.5)), list[Outcome](), list[Event]()
    for _ in range(3):
        clock.wait(5.0)
        inputs = Inputs(at_s=clock.now_s(), reading=plant.read(), outcomes=tuple(outcomes))
        outcomes.clear()
        done = turn(knowledge, inputs, terms("observe"))
        knowledge, events = done.knowledge, [*events, *done.events]
        for instruction in done.instructions:
            plant.perform(instruction, outcomes.append)
    given, failed = (event for event in events if isinstance(event, InstructionGiven | InstructionFailed))
    assert isinstance(failed, InstructionFailed) and (failed.number, failed.reason) == (given.number, "kept-share:query is not simulated")
    assert knowledge.desired.of("kept-share:query") == 1.0


def test_of_an_instruction_in_parts_the_knobs_of_those_that_failed_are_named() -> None:
    change = Change(moves=(*rescaled(2, 3).moves, *changing(1, "a", trigger=(None, None), partitions=(4, 8)).change.moves))
    outcomes: list[Outcome] = []
    executors, query = alone(Instruction(number=1, change=change), outcomes.append)
    for (part, report), reason in ((executors, ""), (query, "boom")):
        assert not outcomes, "both have to end"
        report(Outcome(number=part.number, done=not reason, took_s=1.0, reason=reason))
    assert [(each.done, each.reason, each.failed) for each in outcomes] == [(False, "boom", ("trigger:a", "partitions:a"))]
