"""The table of knobs: what can be decided about a job, each declared once.

Commands, the socket, holds, validation, the history and the docs read this table. To add a knob: a field of `Configuration` or `QueryConfiguration`, a row
here, and a branch in each actuator that can apply it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from penstock.core.domain.disturbance import DisturbanceKind
from penstock.core.domain.trigger import SHORTEST_REAL_TIME_S, Trigger
from penstock.core.domain.units import count_words, duration_words, parse_rate_rows_per_s
from penstock.core.errors import UserMistake

Scope = Literal["job", "query"]
Applied = Literal["live", "after a commit", "at a boundary", "by re-partitioning", "not yet"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One knob: `name` as people write it, `field` as the configuration has it.

    `refuse` returns why a value is out of bounds, or None. `costs` returns the kind of disturbance that a move from one value to another causes, or None.
    `command` is the subcommand that sets it, empty where operators cannot. The checkpoint keeps the value of a knob that is `in_checkpoint`: None leaves it
    as it is, and no reading shows a new one before a commit.
    """

    name: str
    field: str
    scope: Scope
    unit: str
    meaning: str
    applied: Applied
    parse: Callable[[str], Any]
    show: Callable[[Any], str]
    refuse: Callable[[Any], str | None]
    costs: Callable[[Any, Any], DisturbanceKind | None]
    bounds: str
    command: str = ""
    example: str = ""
    in_checkpoint: bool = False


def address_of(knob: str, query: str | None = None) -> str:
    """Return the address of a knob: its name, and its query where it has one.

    >>> address_of("executors"), address_of("trigger", "counts")
    ('executors', 'trigger:counts')
    """
    return f"{knob}:{query}" if query else knob


def knob_at(address: str) -> tuple[Knob, str | None]:
    """Return the knob and the query of an address.

    >>> knob, query = knob_at("rate-limit:counts")
    >>> knob.field, query
    ('rate_limit_rows_per_s', 'counts')
    """
    name, _, query = address.partition(":")
    return KNOBS[name], query or None


def knob_set_by(command: str) -> Knob | None:
    """Return the knob that a command sets; None for any other command."""
    return next((knob for knob in KNOBS.values() if knob.command == command), None) if command else None


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UserMistake(f"found {text!r}, a whole number is allowed") from None


def _share(text: str) -> float:
    """
    >>> _share("60%"), _share("0.6")
    (0.6, 0.6)
    """
    try:
        return float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        raise UserMistake(f'found {text!r}, a share such as "60%" is allowed') from None


def _rate(text: str) -> float | None:
    return None if text == "none" else parse_rate_rows_per_s(text)


def _refuse_trigger(value: Trigger) -> str | None:
    if value.kind == "real_time" and value.interval_s < SHORTEST_REAL_TIME_S:
        return f"a batch duration of at least {duration_words(SHORTEST_REAL_TIME_S)} is allowed in Real-Time Mode"
    return None


def _restarts(before: Any, after: Any) -> DisturbanceKind | None:
    return "reconfiguration"


KNOBS: dict[str, Knob] = {
    knob.name: knob
    for knob in (
        Knob(
            name="executors",
            field="executors",
            scope="job",
            unit="executors",
            meaning="number of executors",
            applied="live",
            parse=_whole,
            show=str,
            refuse=lambda value: None if value >= 1 else "at least 1 is allowed",
            costs=lambda before, after: "rescale_up" if after > before else "rescale_down",
            bounds="within the limits of the job",
            command="scale",
            example="3",
        ),
        Knob(
            name="trigger",
            field="trigger",
            scope="query",
            unit="s",
            meaning="trigger of a query: the time between two batches, or the batch duration in Real-Time Mode",
            applied="after a commit",
            parse=Trigger.parse,
            show=str,
            refuse=_refuse_trigger,
            costs=_restarts,
            bounds=f'a duration, "asap", "available-now", or "realtime:15s" from {duration_words(SHORTEST_REAL_TIME_S)} on',
            command="trigger",
            example="10s",
        ),
        Knob(
            name="rate-limit",
            field="rate_limit_rows_per_s",
            scope="query",
            unit="rows/s",
            meaning="most rows per second that a query takes in, or none",
            applied="after a commit",
            parse=_rate,
            show=lambda value: "none" if value is None else f"{count_words(value)}/s",
            refuse=lambda value: None if value is None or 0 < value < math.inf else "a limit above 0 rows/s is allowed",
            costs=_restarts,
            bounds="above 0, or none; only none in Real-Time Mode",
            command="rate-limit",
            example="20k/s",
        ),
        Knob(
            name="partitions",
            field="partitions",
            scope="query",
            unit="partitions",
            meaning="shuffle partitions of a query",
            applied="by re-partitioning",
            parse=_whole,
            show=lambda value: "as they are" if value is None else str(value),
            refuse=lambda value: None if value is None or value >= 1 else "at least 1 partition is allowed",
            costs=_restarts,
            bounds="1 or more",
            command="partitions",
            example="8",
            in_checkpoint=True,
        ),
        Knob(
            name="kept-share",
            field="kept_share",
            scope="query",
            unit="share",
            meaning="share of the arriving rows that a query keeps under overload",
            applied="not yet",
            parse=_share,
            show=lambda value: f"{value:.0%}",
            refuse=lambda value: None if 0.0 < value <= 1.0 else "a share above 0 and up to 100% is allowed",
            costs=lambda before, after: None,
            bounds="above 0 to 100%",
        ),
    )
}
"""By name, in the order in which changes are described."""
APPLIED = frozenset(knob.name for knob in KNOBS.values() if knob.applied != "not yet")
NOT_YET = {knob.name: "no plant applies it yet" for knob in KNOBS.values() if knob.applied == "not yet"}
