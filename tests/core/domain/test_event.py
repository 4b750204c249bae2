"""Every event has words of its own and survives the history."""

from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from changes import rescaled, sized

from penstock.core.domain import events
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.events.event import Event, event_classes
from penstock.core.domain.events.executors import ExecutorsMissing
from penstock.core.domain.events.run import RunStarted
from penstock.core.domain.events.sources import SourceRateSet
from penstock.core.domain.events.steering import CommandTaken, HoldEnded, InstructionDone
from penstock.core.domain.prediction import Prediction
from penstock.stores.codec import decode_event, encode

KINDS = sorted(event_classes().items())
BASES = {"AutopilotEvent", "Consequence", "InstructionEvent"}
WHY = Comparison(code="partitions", value=2.0, limit=4.0)
EXAMPLES: dict[str, Any] = {
    "str": "some words",
    "str | None": "some words",
    "int": 3,
    "float": 12.5,
    "bool": True,
    "float | None": 12.5,
    "int | None": 3,
    "Mode": "active",
    "Effect": "asked",
    "End": "expired",
    "RollbackReason": "blind",
    "PredictionKind": "capacity",
    "Phase": "plan",
    "Comparison": WHY,
    "Change": rescaled(2, 3),
    "Configuration": sized(counts="5s"),
    "Decision": Decision(policy="hpa", configuration=sized(3), current=sized(2), why=WHY, guards=(WHY,)),
    "tuple[tuple[str, str, str], ...]": (("mode", "shadow", "active"),),
    "tuple[str, ...]": ("limits",),
    "tuple[Prediction, ...]": (Prediction(kind="capacity", made_s=1.0, value=2.0, low=1.0, high=3.0, configuration=sized()),),
}


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
        (HoldEnded(at_s=1.0, knob="executors", value="3", expired=True), "the hold of executors at 3 has run out; the value stays until it is decided anew"),
        (
            HoldEnded(at_s=1.0, knob="executors", value="3", expired=False, who="ann"),
            "the hold of executors at 3 was released by ann; the value stays until it is decided anew",
        ),
        (InstructionDone(at_s=1.0, number=1, knob="executors", took_s=2.34, delayed_rows=None), "executors done in 2.3 s, unknown delay"),
        (InstructionDone(at_s=1.0, number=1, knob="query:a", took_s=2.0, delayed_rows=20_000, note="slow"), "query:a done in 2.0 s, 20k rows delayed; slow"),
        (ExecutorsMissing(at_s=1.0, requested=4, running=2, waited_s=120.4), "4 executors were asked for, 2 run after 2m: going on with those"),
        (RunStarted(at_s=1.0, job="j", master="m", mode="observe", spark_version="4.3", resumed=False), "job j runs on m, Spark 4.3, mode observe"),
        (SourceRateSet(at_s=1.0, source="s", who="ann", rows_per_s=None), "ann: source s follows its trace again"),
    ],
)  # fmt: skip
def test_words_say_what_happened(event: Event, words: str) -> None:
    assert event.words() == words
