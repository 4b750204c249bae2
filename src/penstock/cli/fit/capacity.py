"""`penstock fit capacity`: the capacity of all executors together, from their utilisation and throughput."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.report import JsonOption, PlotOption, Report, finite, present
from penstock.core.errors import UserMistake
from penstock.core.models.capacity.executor_use import ExecutorUses, warm_ups, without
from penstock.core.models.capacity.extrapolation import busiest_third, peak, quiet, score_extrapolation, total
from penstock.core.models.capacity.job_capacity import ExecutorCapacity, JobCapacity, Method
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.score import Score
from penstock.tables.executor_table import read_executors

METHODS: dict[str, Method] = {"utilization_law": "utilization_law", "daedalus": "daedalus"}
LOWEST, HIGHEST = 0.01, 1.2
"""The allowed utilisations; some systems briefly report more than all of an executor's CPU."""


def capacity(
    executors: Annotated[Path, typer.Argument(help="CSV with the columns t_s, worker, utilization (0 to 1), throughput (rows/s).", metavar="EXECUTORS.CSV")],
    at: Annotated[float, typer.Option(help="Predict the capacity with the busiest executor at this utilisation, 0.01 to 1.")] = 1.0,
    max_utilization: Annotated[float, typer.Option(help="Use only readings in which the busiest executor is at most at this utilisation.")] = HIGHEST,
    method: Annotated[str, typer.Option(help="The method: utilization_law, or daedalus, the paper's sum of regressions.")] = "utilization_law",
    as_json: JsonOption = False,
    plot: PlotOption = None,
) -> None:
    """Fit the capacity of a job to readings of its executors (Daedalus)."""
    if method not in METHODS:
        raise UserMistake(f"--method: found {method}, {' or '.join(METHODS)} is allowed")
    finite(at=at, max_utilization=max_utilization)
    within("--at", at, 1.0)
    within("--max-utilization", max_utilization, HIGHEST)
    given = read_executors(executors)
    read = given.readings
    empty = JobCapacity(method=METHODS[method], half_life_s=math.inf)
    cold = warm_ups(quiet(read, max_utilization))
    readings = without(read, cold)
    used = quiet(readings, max_utilization)
    usable = f"{executors}: {len(used)} of {len(read)} moments can be used"
    answer = answered(empty, used, present=readings[-1].names if readings else (), at_utilization=at)
    if isinstance(answer, NotReady):
        raise UserMistake(f"{usable}: {answer.why}{blamed(max_utilization, len(readings) - len(used), readings)}")
    shown = max_utilization if len(used) < len(readings) else busiest_third(readings)
    above = score_extrapolation(readings, max_utilization=shown, model=empty)
    warming = [f"left out {each.from_s:g} s to {each.until_s:g} s: the executors were still warming up, busier for their load than later" for each in cold]
    notes = [*lacking_in_words(given.lacking), *warming, *answer.notes]
    found, shares, model = answer.capacity, answer.shares, answer.model

    def draw(path: Path) -> None:
        from penstock.dashboard.fit_charts import draw_capacity

        busiest = max(model.each_executor(), key=lambda share: share.proportion).executor
        at_s = {each.at_s for each in used}
        points = [(utilization_of(busiest, each), total(each), each.at_s in at_s) for each in read]
        draw_capacity(path, executors.name, points, at, lambda utilization: model.predict(at_utilization=utilization, executors=answer.executors))

    present(
        Report(
            title=f"capacity of {answer.executors} executors, the busiest at {at:.0%}",
            found={**as_object(found, answer.skew, shares, len(used), above, shown), "notes": notes},
            rows=[*as_rows(found, answer.skew, shares, len(used), above, shown), *(("note", note) for note in notes)],
            draw=draw,
        ),
        as_json,
        plot,
    )


def blamed(max_utilization: float, busier: int, readings: Sequence[ExecutorUses]) -> str:
    """Name the option that left readings out, if it did."""
    if not busier:
        return ""
    return f"; --max-utilization {max_utilization:g} leaves out {busier}, the quietest moment has its busiest executor at {min(map(peak, readings)):.2g}"


def lacking_in_words(rows: int) -> list[str]:
    """
    >>> lacking_in_words(1), lacking_in_words(0)
    (['left out 1 row without utilization or throughput, and the moment it is of'], [])
    """
    if not rows:
        return []
    return [f"left out {rows} row{'s' if rows > 1 else ''} without utilization or throughput, and the moment{'s they are' if rows > 1 else ' it is'} of"]


def within(option: str, utilization: float, highest: float) -> None:
    if not LOWEST <= utilization <= highest:
        raise UserMistake(f"{option}: found {utilization:g}, a utilisation from {LOWEST:g} to {highest:g} is allowed")


def utilization_of(executor: str, reading: ExecutorUses) -> float:
    """Return the utilisation of an executor in a reading; the highest of all executors if it is not in it."""
    return next((each.utilization for each in reading.uses if each.executor == executor), peak(reading))


def as_object(found: Estimate, skew: float, shares: tuple[ExecutorCapacity, ...], used: int, above: Score | NotReady, shown: float) -> dict[str, Any]:
    each = [{"worker": each.executor, "capacity": each.capacity_rows_per_s, "proportion": each.proportion} for each in shares]
    errors = {name: None if isinstance(above, NotReady) else getattr(above, name) for name in ("mape", "constant_mape", "paper_mape")}
    return {"capacity": found.value, "low": found.low, "high": found.high, "skew": skew, "workers": each, "readings": used, "learnt_up_to": shown, **errors}


def as_rows(found: Estimate, skew: float, shares: tuple[ExecutorCapacity, ...], used: int, above: Score | NotReady, shown: float) -> list[tuple[str, str]]:
    each = [(f"executor {share.executor}", f"{share.capacity_rows_per_s:,.0f} rows/s at {share.proportion:.0%} of the busiest") for share in shares]
    return [
        ("capacity", f"{found.value:,.0f} rows/s, between {found.low:,.0f} and {found.high:,.0f} in 4 of 5 cases"),
        ("skew", f"{skew:.2f} (1 is balanced: the factor gained if all were as busy as the busiest)"),
        *each,
        ("readings used", str(used)),
        (f"error above {shown:.0%}, learnt from the rest", in_words(above) if isinstance(above, Score) else f"unknown: {above.why}"),
    ]


def in_words(above: Score) -> str:
    paper = "unknown" if above.paper_mape is None else f"{above.paper_mape:.1%}"
    return f"{above.mape:.1%} of {above.held_out} moments; a constant {above.constant_mape:.1%}, the paper's regressions {paper}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityAnswer:
    """The capacity of `executors` executors at the end of a file; `shares` lists each, and is empty if only earlier executors were read for long enough."""

    model: JobCapacity
    executors: int
    capacity: Estimate
    skew: float
    shares: tuple[ExecutorCapacity, ...]
    notes: tuple[str, ...]


def answered(empty: JobCapacity, used: Sequence[ExecutorUses], *, present: tuple[str, ...], at_utilization: float) -> CapacityAnswer | NotReady:
    """Return the capacity of the `present` executors; if too little is known of them, scale that of the executors before them and add a note."""
    whole = model = empty.learn(used).settled()
    left = list(used)
    while left and isinstance(model.skew(), NotReady):
        last = left[-1].names
        while left and left[-1].names == last:
            left.pop()
        model = empty.learn(left).settled()
    capacity, skew = model.predict(at_utilization=at_utilization, executors=len(present)), model.skew(at_utilization=at_utilization)
    if model.stay is None or isinstance(skew, NotReady):
        why = whole.skew()
        return why if isinstance(why, NotReady) else NotReady(why="no executors were read")
    if isinstance(capacity, NotReady):
        return capacity
    if model.stay.names == present:
        shares = model.each_executor(at_utilization=at_utilization)
        return CapacityAnswer(model=model, executors=len(present), capacity=capacity, skew=skew, shares=shares, notes=())
    return CapacityAnswer(
        model=model, executors=len(present), capacity=capacity, skew=skew, shares=(), notes=(scaled_note(len(present), model.stay.executors),)
    )


def scaled_note(present: int, before: int) -> str:
    """
    >>> scaled_note(9, 6)
    'too few readings of the 9 executors at the end can be used: this is the capacity of the 6 before them, times 9/6'
    """
    times = "" if present == before else f", times {present}/{before}"
    return f"too few readings of the {present} executors at the end can be used: this is the capacity of the {before} before them{times}"
