from dataclasses import replace

import pytest
from changes import scaled_to
from planned import Fixed, of, terms

from penstock.core.domain.events.autopilot_events import Decided
from penstock.core.domain.events.steering_events import InstructionDone
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.wiring import simulation
from penstock.wiring.setup import Setup, declared_of


def test_a_policy_moves_the_trigger_of_a_simulated_job(monkeypatch: pytest.MonkeyPatch) -> None:
    under = terms("active")
    setup = Setup(
        load=Arrivals.through((0.0, 120.0), (100.0, 100.0)), engine=MicroBatchSettings(), terms=replace(under, limits=replace(under.limits, start_executors=2))
    )
    assert declared_of(setup) == scaled_to(2, query="5s")
    monkeypatch.setattr(simulation, "policy_of", lambda terms: Fixed(wanted=scaled_to(2, query="20s")))
    run = simulation.simulate(setup)
    assert of(Decided, run.events)[0].decision.change.words() == "trigger:query 5s -> 20s"
    assert [each.knob for each in of(InstructionDone, run.events)] == ["query:query"]
