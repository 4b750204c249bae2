from collections.abc import Callable
from dataclasses import dataclass, fields, make_dataclass, replace
from typing import Any

import pytest
from asking_job import Prompt
from planned import of

from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.configuration import Configuration, QueryConfiguration
from penstock.core.domain.decision import Candidate, Comparison, Decision
from penstock.core.domain.events.autopilot_events import Decided
from penstock.core.domain.events.steering_events import CommandTaken, HoldEnded, InstructionDone, InstructionFailed, InstructionGiven
from penstock.core.domain.instruction import Instruction, Outcome, joined
from penstock.core.domain.job_spec import Limits
from penstock.core.domain.knobs import KNOBS, Knob
from penstock.core.domain.reading import QueryReading, Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import Refused
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.knowledge import Hold
from penstock.core.knowledge.policy import Need
from penstock.core.knowledge.terms import Terms
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.redaction import Redactor
from penstock.core.report.explained import explained
from penstock.runtime.desk import Desk
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine
from penstock.simulator.plant import SimulatedClock, SimulatedPlant
from penstock.stores.in_memory import MemoryStore

WARMTH = Knob(
    name="warmth", field="warmth", scope="query", unit="degrees", meaning="how warm a query is kept", applied="live", parse=int, show=str,
    refuse=lambda value: None if 0 <= value <= 30 else "0 to 30 degrees are allowed",
    costs=lambda before, after: "reconfiguration" if after < before else None, bounds="0 to 30", command="warm", example="20",
)  # fmt: skip
EACH_S = 5.0
OF_QUERY, OF_JOB = "warmth:counts", "warmth"


def warm(base: type[Any]) -> Any:
    """A class with the field that the knob needs."""
    return make_dataclass(f"Warm{base.__name__}", [("warmth", int, 18)], bases=(base,), frozen=True, slots=True, kw_only=True)


WarmJob, WarmQuery, WarmReading, WarmQueryReading = (warm(base) for base in (Configuration, QueryConfiguration, Reading, QueryReading))


class WarmPlant:
    """The simulated plant with a branch for the knob; what it does not know goes on to the simulation. `broken` is why the heating does not work."""

    def __init__(self, plant: SimulatedPlant, address: str) -> None:
        self._plant, self._address = plant, address
        self.warmth, self.broken = 18, ""

    def read(self) -> Reading:
        reading = self._plant.read()
        if self._address == OF_JOB:
            return self._warm(WarmReading, reading)
        return replace(reading, queries=tuple(self._warm(WarmQueryReading, query) for query in reading.queries))

    def _warm(self, kind: Any, cold: Any) -> Any:
        return kind(**{each.name: getattr(cold, each.name) for each in fields(cold)}, warmth=self.warmth)

    def perform(self, instruction: Instruction, report: Callable[[Outcome], None]) -> None:
        moves = [move for move in instruction.change.moves if move.knob == "warmth"]
        others = replace(instruction, change=replace(instruction.change, moves=tuple(each for each in instruction.change.moves if each not in moves)))
        mine = Outcome(number=instruction.number, done=not self.broken, took_s=2.0, reason=self.broken)
        if not self.broken:
            self.warmth = next((move.after for move in moves if isinstance(move.after, int)), self.warmth)
        if others.change:
            self._plant.perform(others, lambda outcome: report(joined([mine, outcome])))
        else:
            report(mine)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thermostat:
    """Wants 24 degrees, whatever is seen."""

    address: str
    name: str = "thermostat"
    period_s: float = 30.0
    needs: frozenset[Need] = frozenset()
    faithful: bool = False

    def decide(self, seen: Assessment) -> Decision:
        why = Comparison(code="too_cold", value=float(seen.current.of(self.address)), limit=24.0, says="{value} degrees, {limit} are wanted")
        warm = seen.current.having(self.address, 24)
        return Decision(policy=self.name, configuration=warm, current=seen.current, why=why, candidates=(Candidate(configuration=warm),))


class Job:
    """A simulated job of two executors with a query, and a desk where operators speak."""

    def __init__(self, address: str, *, mode: Any) -> None:
        config = Config(reading_interval_s=EACH_S, reading_window_s=EACH_S)
        self.clock, self.memory = SimulatedClock(), MemoryStore()
        settings = MicroBatchSettings(query="counts", trigger=Trigger(interval_s=5.0))
        self.simulated = SimulatedPlant(MicroBatchEngine(settings, Load.of(Arrivals.constant(500.0), 0.0), executors=2), self.clock, config)
        self.plant, self.address = WarmPlant(self.simulated, address), address
        declared = WarmJob(executors=2, queries={"counts": WarmQuery(trigger=settings.trigger)})
        policy = Thermostat(address=address) if mode == "active" else None
        terms = Terms(limits=Limits(min_executors=1, max_executors=4), config=config, autopilot=Autopilot(mode=mode))
        self.controller = Prompt(source=self.plant, actuator=self.plant, memory=self.memory, clock=self.clock, terms=terms, declared=declared, policy=policy)
        self.desk = Desk(controller=self.controller, clock=self.clock, redactor=Redactor(), status=lambda: {}, set_source_rate=None)
        self.run(20.0)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / EACH_S)):
            self.clock.wait(EACH_S)
            self.simulated.advance()
            self.controller.step()

    @property
    def desired(self) -> Any:
        return self.controller.knowledge.desired.of(self.address)

    def say(self, **asked: Any) -> list[str]:
        return list(self.desk.handle("warm", asked, "ann")["said"])

    def said(self, kind: Any) -> list[Any]:
        return of(kind, self.memory.events)


@pytest.fixture(autouse=True, params=[OF_QUERY, OF_JOB])
def address(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The knob in the table, of a query or of the job, and the field that a knob of the job needs."""
    monkeypatch.setitem(KNOBS, "warmth", replace(WARMTH, scope="query" if request.param == OF_QUERY else "job"))
    if request.param == OF_JOB:
        monkeypatch.setattr("penstock.core.domain.reading.Configuration", WarmJob)
    return str(request.param)


def target(address: str) -> str:
    return "query:counts" if address == OF_QUERY else address


def test_a_command_is_held_desired_instructed_and_done(address: str) -> None:
    job = Job(address, mode="observe")
    said = job.say(value="21", hold_s=60.0)
    assert said == [f"ann set {address} to 21, held for 1m", f"{target(address)}: warmth 18 -> warmth 21 (held by ann)"]
    assert job.controller.knowledge.holds == (Hold(knob=address, value="21", who="ann", until_s=80.0),)
    assert job.desired == 21
    job.run(EACH_S)
    assert job.plant.warmth == 21 and job.memory.readings[-1].configuration.of(address) == 21
    (given,), (done,) = job.said(InstructionGiven), job.said(InstructionDone)
    assert (given.number, done.number, done.took_s, done.decision_id) == (1, 1, 2.0, None)
    job.run(60.0)
    assert [each.knob for each in job.said(HoldEnded)] == [address] and job.plant.warmth == 21, "the value stays"


def test_a_value_out_of_bounds_and_a_query_that_is_not_there_are_refused(address: str) -> None:
    job = Job(address, mode="observe")
    with pytest.raises(Refused, match="0 to 30 degrees are allowed"):
        job.say(value="31")
    if address == OF_QUERY:
        with pytest.raises(Refused, match="there is no query 'other'"):
            job.say(value="20", query="other")
    assert not job.said(CommandTaken) and job.desired == 18


def test_a_change_that_fails_leaves_the_value_that_runs(address: str) -> None:
    job = Job(address, mode="observe")
    job.plant.broken = "the heating is off"
    job.say(value="21")
    job.run(20.0)
    assert [each.reason for each in job.said(InstructionFailed)] == ["the heating is off"]
    assert job.desired == 18 and job.controller.knowledge.holds == ()


def test_a_policy_decides_it_and_its_decision_is_known_by_its_id_to_the_end(address: str) -> None:
    job = Job(address, mode="active")
    decided = job.said(Decided)[0]
    assert (decided.effect, decided.decision.direction) == ("asked", "change")
    assert decided.words() == f"thermostat: {address} 18 -> 24, 18 degrees, 24 are wanted (instructed)"
    found = explained(decided, job.memory.events, None, job.clock.now_s())
    assert [(type(event), event.decision_id) for event in found.afterwards] == [(InstructionGiven, decided.id), (InstructionDone, decided.id)]  # type: ignore[attr-defined]
    assert found.afterwards[0].words() == f"{target(address)}: warmth 18 -> warmth 24 (decided by thermostat)"
    assert job.plant.warmth == 24 and len(job.said(InstructionGiven)) == 1
    job.run(30.0)
    assert job.said(Decided)[-1].effect == "kept"


def test_a_hold_beats_the_policy_for_this_knob_too(address: str) -> None:
    job = Job(address, mode="active")
    job.say(value="5", hold_s=60.0)
    job.run(50.0)
    assert job.plant.warmth == 5 and job.said(Decided)[-1].effect == "held"
    job.run(60.0)
    assert job.plant.warmth == 24


def test_its_cost_is_learnt_by_what_the_table_says_that_it_causes(address: str) -> None:
    job = Job(address, mode="active")
    assert job.controller.knowledge.learnt.downtimes.learnt == {}, "more warmth costs nothing"
    job.say(value="5")
    job.run(EACH_S)
    assert list(job.controller.knowledge.learnt.downtimes.learnt) == ["reconfiguration"]
