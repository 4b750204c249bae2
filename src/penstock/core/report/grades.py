"""The errors of graded predictions, by kind and subject."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from penstock.core.domain.events.autopilot_events import Graded
from penstock.core.domain.events.event import Event
from penstock.core.domain.prediction import PredictionKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """`error` is the mean relative error of `count` predictions, `bias` its signed mean (above 0: too much), `within` the share inside its bounds."""

    kind: PredictionKind
    about: str
    count: int
    error: float
    bias: float
    within: float


def grades(events: Iterable[Event]) -> tuple[Grade, ...]:
    """Return a grade for each kind and subject of predictions, forecasts by their lead.

    >>> from penstock.core.domain.configuration import Configuration
    >>> of_two = Configuration(executors=2)
    >>> one = Graded(at_s=9, kind="capacity", about="", made_s=0, predicted=75, low=70, high=110, actual=100, configuration=of_two)
    >>> two = Graded(at_s=9, kind="capacity", about="", made_s=0, predicted=150, low=140, high=160, actual=100, configuration=of_two)
    >>> grades([one, two])
    (Grade(kind='capacity', about='', count=2, error=0.375, bias=0.125, within=0.5),)
    """
    groups: dict[tuple[PredictionKind, str], list[Graded]] = defaultdict(list)
    for event in events:
        if isinstance(event, Graded):
            groups[event.kind, event.about].append(event)
    return tuple(_grade(*about, groups[about]) for about in sorted(groups, key=_order))


def _grade(kind: PredictionKind, about: str, seen: list[Graded]) -> Grade:
    signed = [each.error if each.predicted >= each.actual else -each.error for each in seen]
    return Grade(
        kind=kind,
        about=about,
        count=len(seen),
        error=sum(each.error for each in seen) / len(seen),
        bias=sum(signed) / len(seen),
        within=sum(each.is_within for each in seen) / len(seen),
    )


def _order(about: tuple[PredictionKind, str]) -> tuple[int, float, str]:
    """By kind, then short leads first.

    >>> sorted([("forecast", "300 s"), ("forecast", "60 s"), ("capacity", "")], key=_order)
    [('capacity', ''), ('forecast', '60 s'), ('forecast', '300 s')]
    """
    kind, words = about
    number = words.partition(" ")[0]
    return get_args(PredictionKind).index(kind), float(number) if number.replace(".", "", 1).isdigit() else 0.0, words
