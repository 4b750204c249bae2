import math
import re
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from changes import rescaled, scaled_to

from penstock.core.domain import events
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.events import autopilot_events as said
from penstock.core.domain.events.event import Event, event_classes
from penstock.core.domain.events.executor_events import ExecutorsMissing
from penstock.core.domain.events.meaning import is_routine
from penstock.core.domain.events.query_events import CostChanged, QueryFailed, QueryGivenUp
from penstock.core.domain.events.run_events import NothingToDo, RunStarted
from penstock.core.domain.events.source_events import SourceRateSet
from penstock.core.domain.events.steering_events import CommandTaken, HoldEnded, InstructionDone
from penstock.core.domain.prediction import Prediction
from penstock.core.domain.reasons import REASONS
from penstock.stores.codec import decode_event, encode

KINDS = sorted(event_classes().items())
BASES = {"AutopilotEvent", "Consequence", "InstructionEvent"}
WHY = Comparison(code="partitions", value=2.0, limit=4.0)
EXAMPLES: dict[str, Any] = {
    "str": "some words", "str | None": "some words", "int": 3, "float": 12.5, "bool": True, "float | None": 12.5, "int | None": 3, "Mode": "active",
    "Effect": "asked", "End": "expired", "EndOfHold": "failed", "RollbackReason": "blind", "PredictionKind": "capacity", "Phase": "plan", "Comparison": WHY,
    "Change": rescaled(2, 3), "Configuration": scaled_to(counts="5s"),
    "Decision": Decision(policy="hpa", configuration=scaled_to(3), current=scaled_to(2), why=WHY, guards=(WHY,)),
    "tuple[tuple[str, str, str], ...]": (("mode", "shadow", "active"),), "tuple[str, ...]": ("limits",),
    "tuple[Prediction, ...]": (Prediction(kind="capacity", made_s=1.0, value=2.0, low=1.0, high=3.0, configuration=scaled_to()),),
}  # fmt: skip


def example(kind: type[Event]) -> Event:
    return kind(**{each.name: EXAMPLES[str(each.type)] for each in fields(kind)})


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_an_event_is_one_line_of_words_with_what_it_holds(name: str, kind: type[Event]) -> None:
    words = example(kind).words()
    assert words and "\n" not in words and "None" not in words
    if any(each.type == "str" and each.name not in ("traceback", "reason", "mode", "master", "spark_version") for each in fields(kind)):
        assert "some words" in words


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_an_event_is_read_back_from_the_history_as_it_was(name: str, kind: type[Event]) -> None:
    assert decode_event(name, encode(example(kind))) == example(kind)


def test_all_events_are_known_by_name() -> None:
    files = {file.stem for file in Path(events.__file__).parent.glob("*.py")} - {"__init__", "event", "meaning"}
    modules = [import_module(f"{events.__name__}.{each}") for each in files]
    defined = {name for module in modules for name, value in vars(module).items() if isinstance(value, type) and value.__module__ == module.__name__}
    assert set(event_classes()) == defined - BASES and files == set(events.__all__), "a base of several is no event"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (CommandTaken(at_s=10.0, who="ann", knob="executors", value="3", held_until_s=3610.0), "ann set executors to 3, held for 1h"),
        (HoldEnded(at_s=1.0, knob="x", value="3", how="expired"), "the hold of x at 3 has run out; the value stays until a decision changes it"),
        (
            HoldEnded(at_s=1.0, knob="executors", value="3", how="released", who="ann"),
            "the hold of executors at 3 was released by ann; the value stays until a decision changes it",
        ),
        (HoldEnded(at_s=1.0, knob="executors", value="3", how="failed"), "the hold of executors at 3 ends: the value could not be set"),
        (InstructionDone(at_s=1.0, number=1, knob="executors", took_s=2.34, delayed_rows=None), "executors done in 2.3 s, unknown delay"),
        (InstructionDone(at_s=1.0, number=1, knob="query:a", took_s=2.0, delayed_rows=20_000, note="slow"), "query:a done in 2.0 s, 20k rows delayed; slow"),
        (ExecutorsMissing(at_s=1.0, requested=4, running=2, waited_s=120.4), "4 executors were asked for, 2 run after 2m: going on with those"),
        (RunStarted(at_s=1.0, job="j", master="m", mode="observe", spark_version="4.3", resumed=False), "job j runs on m, Spark 4.3, mode observe"),
        (SourceRateSet(at_s=1.0, source="s", who="ann", rows_per_s=None), "ann: source s follows its trace again"),
        (
            CostChanged(at_s=1.0, query="q", part="skew", before_s=0.001, after_s=0.002),
            "rows of q are spread less evenly: its longest task takes 2 times what it did, all tasks together about as long",
        ),
        (
            QueryGivenUp(at_s=1.0, query="q", restarts=2, cause="LookupError: no table", reason="the same error 3 times"),
            "query q is given up after 2 restarts (the same error 3 times): LookupError: no table; rates, lag and capacity of the job are without it",
        ),
        (SourceRateSet(at_s=1.0, source="s", who="ann", rows_per_s=None, times=0.5), "ann: source s begins its trace again, at 0.5 times its rate"),
    ],
)  # fmt: skip
def test_words_say_what_happened(event: Event, words: str) -> None:
    assert event.words() == words


AT: Any = {"at_s": 1000.0}


def decided(effect: Any, executors: int = 3, current: int = 4, mode: Any = "active", code: str = "smallest_that_holds", guards: Any = ()) -> said.Decided:
    why = Comparison(code=code, value=900.0, limit=1200.0)
    decision = Decision(policy="daedalus", configuration=scaled_to(executors), current=scaled_to(current), why=why, guards=guards)
    return said.Decided(**AT, id=7, mode=mode, policy="auto:daedalus", decision=decision, effect=effect)


def graded(kind: Any, about: str, predicted: float = 1234.5, actual: float = 1200.0) -> said.Graded:
    return said.Graded(**AT, kind=kind, about=about, made_s=940.0, predicted=predicted, low=0.0, high=9e9, actual=actual, configuration=scaled_to(4))


TO_FOUR: Any = {"before": scaled_to(2), "configuration": scaled_to(4)}
QUOTA = (Comparison(code="quota", value=6.0, limit=4.0),)
SAID: list[tuple[Event, str]] = [
    (decided("asked"), "auto:daedalus: executors 4 -> 3, the fewest executors that hold (instructed)"),
    (decided("shadow", mode="shadow"), "auto:daedalus: executors 4 -> 3, the fewest executors that hold (in shadow: nothing was changed)"),
    (decided("proposed", mode="ask"), "auto:daedalus: executors 4 -> 3, the fewest executors that hold (proposed, waiting for an answer)"),
    (decided("approved", mode="ask"), "auto:daedalus: executors 4 -> 3, the fewest executors that hold (approved)"),
    (decided("held"), "auto:daedalus: executors 4 -> 3, the fewest executors that hold (an operator holds it)"),
    (decided("kept", 4, code="not_ready"), "auto:daedalus keeps 4 executors: not enough is known yet"),
    (decided("kept", 1, 1, mode="shadow", code="not_ready"), "auto:daedalus would keep 1 executor: not enough is known yet"),
    (
        decided("guarded", 4, code="capacity_below_load", guards=QUOTA),
        "auto:daedalus keeps 4 executors: it carries 900 rows/s, 1,200 arrive; 6 wanted, the quota is 4 (a guard kept the configuration)",
    ),
    (
        said.Proposed(**AT, proposal=7, change=rescaled(4, 3), policy="auto:daedalus", expires_s=1600.0),
        "proposal 7 of auto:daedalus: executors 4 -> 3; penstock approve 7, within 10m",
    ),
    (said.ProposalEnded(**AT, proposal=7, how="approved", who="ann"), "proposal 7 was approved by ann"),
    (said.ProposalEnded(**AT, proposal=7, how="expired"), "proposal 7 was not answered in time"),
    (said.PolicyPaused(**AT, who="ann", until_s=4600.0, reason="release day"), "ann paused the policy for 1h: release day"),
    (said.PolicyPaused(**AT, who="ann", until_s=None), "ann paused the policy until it is resumed"),
    (said.PolicyResumed(**AT, who="penstock"), "penstock resumed the policy"),
    (
        said.RolledBack(**AT, policy="auto:daedalus", **TO_FOUR, reason="broken_promises", value=3.0, limit=3.0),
        "auto:daedalus was rolled back, executors 2 -> 4: 3 promises were broken after it had reduced the executors",
    ),
    (
        said.RolledBack(**AT, reason="broken_promises", before=scaled_to(4), configuration=scaled_to(4), value=2.0, limit=2.0),
        "rolled back, executors stay 4: 2 promises were broken after it had reduced the executors",
    ),
    (
        said.RolledBack(**AT, reason="wrong_predictions", before=scaled_to(4), configuration=scaled_to(4), value=1.234, limit=1.0),
        "rolled back, executors stay 4: its predictions were off by 123% on average",
    ),
    (said.RolledBack(**AT, **TO_FOUR, reason="blind", value=130.0, limit=120.0), "rolled back, executors 2 -> 4: no reading came for 130 s"),
    (said.RolledBack(**AT, **TO_FOUR, reason="policy_fails", value=3.0, limit=3.0), "rolled back, executors 2 -> 4: the policy failed 3 times in a row"),
    (
        said.ScalingIneffective(
            **AT, policy="auto:hpa", change=rescaled(2, 4), throughput_before_rows_per_s=900.0, throughput_after_rows_per_s=910.0,
            bottleneck=Comparison(code="partitions", value=2.0, limit=4.0),
        ),
        "executors 2 -> 4 of auto:hpa had no effect (900 -> 910 rows/s), taken back: 2 tasks for 4 slots",
    ),
    (
        said.TargetInfeasible(**AT, target="latency", why=Comparison(code="latency_below_trigger", value=5.0, limit=2.0)),
        "no number of executors can keep the promised latency: 2 s are promised, the trigger alone is 5 s",
    ),
    (
        said.TargetInfeasible(**AT, target="recovery time", why=Comparison(code="recovery_above_target", value=float("inf"), limit=600.0)),
        "no number of executors can keep the promised recovery time: the job would never catch up, 600 s are allowed",
    ),
    (
        said.TargetInfeasible(**AT, target="throughput", why=Comparison(code="peak_above_capacity", value=5000.0, limit=4000.0)),
        "no number of executors can carry the load: 5,000 rows/s are forecast, the most executors carry 4,000",
    ),
    (said.TargetFeasible(**AT, target="latency"), "the promised latency can be kept again"),
    (said.TargetFeasible(**AT, target="throughput"), "the load can be carried again"),
    (said.PromiseBroken(**AT, promise="latency p95", value=3.21, limit=2.0), "promise broken: latency p95 3.21 s, 2 s were promised"),
    (said.PromiseKept(**AT, promise="latency p95"), "promise kept again: latency p95"),
    (graded("capacity", ""), "capacity of 4 executors was predicted as 1,234 rows/s, it was 1,200"),
    (graded("latency", "p95", 1.5, 1.25), "latency p95 of 4 executors was predicted as 1.5 s, it was 1.25"),
    (graded("forecast", "300 s"), "load 300 s ahead was predicted as 1,234 rows/s, it was 1,200"),
    (graded("recovery", "rescale_up", 62.0, 55.0), "recovery from rescale up was predicted as 62 s, it was 55"),
    (said.Recovered(**AT, kind="executor_loss", started_s=940.0, took_s=55.0, alone=True), "recovered from executor loss after 55s"),
    (
        said.PhaseFailed(**AT, policy="auto", phase="plan", error="ValueError: no", in_a_row=2),
        "the plan phase of auto failed and was skipped, 2 in a row: ValueError: no",
    ),
    (said.FitTaken(**AT, fit_number=3, took_s=12.5), "fit 3 was taken in, it took 12.5 s"),
    (said.FitFailed(**AT, fit_number=3, reason="out of memory"), "fit 3 failed: out of memory"),
    (
        said.AutopilotChanged(**AT, changes=(("mode", "shadow", "active"), ("max_step", "none", "2")), needs_restart=("limits",)),
        "the job file changed: mode shadow -> active; max_step none -> 2; needs a restart: limits",
    ),
    (said.AutopilotChanged(**AT, changes=(), needs_restart=("limits",)), "the job file changed: nothing in [autopilot]; needs a restart: limits"),
    (said.AutopilotRefused(**AT, reason="job.toml:3: mode"), "the job file changed and has a mistake, the old one stays: job.toml:3: mode"),
]  # fmt: skip
UNDER: Any = {"at_s": 1000.0, "policy": "auto:daedalus"}
SAID_BY_NAME: list[tuple[Event, str]] = [
    (said.ProposalEnded(**UNDER, proposal=7, how="approved", who="ann"), "proposal 7 of auto:daedalus was approved by ann"),
    (said.PolicyPaused(**UNDER, who="ann", until_s=4600.0, reason="release day"), "ann paused the policy auto:daedalus for 1h: release day"),
    (said.PolicyResumed(**UNDER, who="penstock"), "penstock resumed the policy auto:daedalus"),
    (said.PromiseBroken(**UNDER, promise="latency p95", value=3.21, limit=2.0), "promise broken under auto:daedalus: latency p95 3.21 s, 2 s were promised"),
    (said.PromiseKept(**UNDER, promise="latency p95"), "promise kept again under auto:daedalus: latency p95"),
    (replace(graded("capacity", ""), policy="auto:ds2"), "capacity of 4 executors was predicted by auto:ds2 as 1,234 rows/s, it was 1,200"),
    (said.Recovered(**UNDER, kind="executor_loss", started_s=940.0, took_s=55.0, alone=True), "recovered from executor loss after 55s under auto:daedalus"),
    (said.FitTaken(**UNDER, fit_number=3, took_s=12.5), "fit 3 for auto:daedalus was taken in, it took 12.5 s"),
    (said.FitFailed(**UNDER, fit_number=3, reason="out of memory"), "fit 3 for auto:daedalus failed: out of memory"),
    (said.TargetFeasible(**UNDER, target="latency"), "the promised latency can be kept again"),
]
RAW = re.compile(r"None|nan|\binf\b|Comparison\(|Decision\(|\{|\}|\w+_\w+=|Literal|e\+\d|\d\.\d{4,}|  ")


@pytest.mark.parametrize(("event", "words"), [*SAID, *SAID_BY_NAME], ids=lambda each: type(each).__name__ if isinstance(each, Event) else "")
def test_an_event_reads_as_a_sentence(event: Event, words: str) -> None:
    print(event.words())
    assert event.words() == words
    assert not RAW.search(event.words())


def test_there_is_one_of_each() -> None:
    kinds = {value for value in vars(said).values() if isinstance(value, type) and issubclass(value, Event) and value.__module__ == said.__name__}
    assert {type(event) for event, _ in SAID} == kinds - {said.AutopilotEvent, said.Consequence}
    assert {event.effect for event, _ in SAID if isinstance(event, said.Decided)} == {"kept", *said.EFFECTS}


def test_what_never_ends_is_said_to_never_end() -> None:
    assert Comparison(code="recovery_above_target", value=math.inf, limit=600.0).words() == "the job would never catch up, 600 s are allowed"
    assert Comparison(code="latency", value=math.inf, limit=2.0).words() == "the job would never catch up, 2 s promised"
    assert Comparison(code="latency", value=3.0, limit=2.0).words() == "3 s predicted, 2 s promised"


@pytest.mark.parametrize("code", sorted(REASONS))
@pytest.mark.parametrize("number", [None, 0.12345, 1234.5678, float("inf")])
def test_no_reason_shows_a_raw_number(code: str, number: float | None) -> None:
    words = Comparison(code=code, value=number, limit=number).words()
    assert words and not RAW.search(words)


def test_routine_is_what_changes_nothing() -> None:
    fit = said.FitTaken(**AT, fit_number=1, took_s=1.0)
    decisions = [decided("kept", 4), decided("held"), decided("guarded", 4), decided("proposed", mode="ask")]
    assert all(map(is_routine, [NothingToDo(at_s=1.0), *decisions, graded("capacity", ""), fit]))
    news = [
        decided("asked"), decided("approved", mode="ask"), decided("shadow", mode="shadow"), said.PromiseKept(**AT, promise="latency p95"),
        QueryFailed(at_s=1.0, query="q", cause="c"),
    ]  # fmt: skip
    assert not any(map(is_routine, news))
