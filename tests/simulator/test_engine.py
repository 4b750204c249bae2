from collections.abc import Callable

import pytest
from changes import changing, rescaled
from planned import terms

from penstock.core.config import Config
from penstock.core.domain.configuration import Change
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
def test_a_knob_that_is_not_simulated_is_reported_not_asked_for_and_refused(made: Callable[[], Engine]) -> None:
    plant, outcomes = SimulatedPlant(made(), SimulatedClock(), Config()), list[Outcome]()
    reading = plant.read()
    assert [query.unable for query in reading.queries] == [{"kept-share": "no plant applies it yet"}]
    wanting = Knowledge(declared=reading.configuration, desired=reading.configuration.having("kept-share:query", 0.5))
    assert turn(wanting, Inputs(at_s=reading.at_s, reading=reading), terms("observe")).instructions == ()
    plant.perform(changing(1, "query", kept_share=(1.0, 0.5)), outcomes.append)
    assert [(each.done, each.reason) for each in outcomes] == [(False, "kept-share:query is not simulated")]


def test_of_an_instruction_in_parts_the_knobs_of_those_that_failed_are_named() -> None:
    change = Change(moves=(*rescaled(2, 3).moves, *changing(1, "a", trigger=(None, None), partitions=(4, 8)).change.moves))
    outcomes: list[Outcome] = []
    executors, query = alone(Instruction(number=1, change=change), outcomes.append)
    for (part, report), reason in ((executors, ""), (query, "boom")):
        assert not outcomes, "both have to end"
        report(Outcome(number=part.number, done=not reason, took_s=1.0, reason=reason))
    assert [(each.done, each.reason, each.failed) for each in outcomes] == [(False, "boom", ("trigger:a", "partitions:a"))]
