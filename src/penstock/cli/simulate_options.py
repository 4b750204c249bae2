"""Parse and check the options that `simulate`, `replay` and `audit` share; a mistake is one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from penstock.cli.report import needed
from penstock.core.domain.autopilot import Chosen
from penstock.core.domain.fault import Fault
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.errors import UserMistake
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.policies.registry import POLICIES, labelled, labels_in, with_parameters
from penstock.tables.measurements import read_trace
from penstock.wiring.setup import SHORTEST_RUN_S

if TYPE_CHECKING:
    from penstock.hindsight.whatif import Like

ALL = "all"
USUAL_MOST = 12
MOST_EXECUTORS = 10_000
"""More than any job has; every number of executors is weighed at every decision."""
SeedOption = Annotated[int, Option(help="The seed of the random numbers.")]
USUAL_LAST = "24h"
"""The default of `--last`."""
LEAST_LAST_S = 300.0
"""A shorter part of a recorded run says nothing about a policy."""


def limits_of(least: int | None, most: int | None, start: int | None, like: Like | None) -> Limits:
    """Return the given limits, else those of the recorded job and its first number of executors. The given maximum may be below the job's minimum."""
    most = most if most is not None else USUAL_MOST if like is None else like.max_executors
    least = least if least is not None else 1 if like is None else max(1, min(like.min_executors, most))
    start = start if start is not None or like is None or not least <= like.found.executors <= most else like.found.executors
    needed(1, max_scaleout=most, min_scaleout=least)
    if most > MOST_EXECUTORS:
        raise UserMistake(f"--max-scaleout: found {most}, at most {MOST_EXECUTORS} is allowed")
    if least > most:
        raise UserMistake(f"--min-scaleout: found {least}, at most --max-scaleout ({most}) is allowed")
    if start is not None and not least <= start <= most:
        raise UserMistake(f"--start-scaleout: found {start}, a number from {least} to {most} is allowed")
    return Limits(min_executors=least, max_executors=most, start_executors=start)


def promises_of(latency_ms: float | None, recovery_s: float | None, like: Like | None) -> Promises:
    """Return the given promises, else those of the recorded job."""
    started = None if like is None else like.started
    recorded = Promises() if started is None else Promises(latency_p95_s=started.latency_p95_s, recovery_s=started.recovery_s)
    return Promises(
        latency_p95_s=recorded.latency_p95_s if latency_ms is None else latency_ms / 1000, recovery_s=recorded.recovery_s if recovery_s is None else recovery_s
    )


def policies_of(text: str) -> tuple[str, ...]:
    """Return the labels of the policies that are asked for; raise `UserMistake` for one that is not allowed."""
    labels = tuple(POLICIES) if text == ALL else labels_in(text)
    try:
        for label in labels:
            labelled(label)
    except UserMistake as mistake:
        raise UserMistake(f"--policy: {re.sub(r'^(policy: |autopilot.parameters.)', '', str(mistake))}") from None
    if len(set(labels)) < len(labels):
        raise UserMistake(f'--policy: found "{text}", a policy is named once')
    return labels


def chosen_of(policies: Sequence[str], given: Sequence[str]) -> Chosen:
    """Return the policy with the parameters of `--param`; raise `UserMistake` for several policies."""
    first = labelled(policies[0])
    if len(policies) > 1:
        raise UserMistake("--param: it belongs to one policy, and several were given; write hpa(target=0.8)")
    parameters = {**first.parameters, **dict(map(parameter_of, given))}
    try:
        with_parameters(first.name, parameters)
    except UserMistake as mistake:
        raise UserMistake(str(mistake).replace("autopilot.parameters.", "--param ")) from None
    return Chosen(name=first.name, parameters=parameters)


def parameter_of(text: str) -> tuple[str, float | bool]:
    """
    >>> parameter_of("grace_s=120"), parameter_of("failures_too=true")
    (('grace_s', 120.0), ('failures_too', True))
    """
    name, _, value = text.partition("=")
    if value in ("true", "false"):
        return name.strip(), value == "true"
    try:
        return name.strip(), float(value)
    except ValueError:
        raise UserMistake(f'--param: found "{text}", a name and a number, or true or false, are needed: grace_s=120') from None


def faults_of(text: str, timeout_s: float | None, load: Arrivals) -> tuple[Fault, ...]:
    """Return the faults in order of time: crashes, or freezes if there is a time-out."""
    faults: list[Fault] = []
    for each in map(str.strip, text.split(",")) if text.strip() else ():
        try:
            at_s = float(each)
        except ValueError:
            raise UserMistake(f'--failures: found "{each}", times in seconds are needed: 1200,3943') from None
        if not load.time_s[0] <= at_s < load.last_s:
            raise UserMistake(f"--failures: found {plain(at_s)}, the trace goes {span_words(load)}")
        if any(fault.at_s == at_s for fault in faults):
            raise UserMistake(f"--failures: found {plain(at_s)} twice, another time is needed for each")
        faults.append(Fault(at_s=at_s, kind="kill" if timeout_s is None else "freeze"))
    return tuple(sorted(faults, key=lambda fault: fault.at_s))


def span_words(load: Arrivals) -> str:
    """
    >>> span_words(Arrivals.through((1_700_000_000.0, 1_700_000_060.5), (1.0, 1.0)))
    'from 1700000000 s to 1700000060.5 s'
    """
    return f"from {plain(load.time_s[0])} s to {plain(load.last_s)} s"


def plain(at_s: float) -> str:
    """Format a time with all its digits, as a trace may count from 1970."""
    return f"{at_s:.13g}"


def recorded_job(history: str | None, last: str | None, seed: int) -> Like | None:
    """Calibrate by the job of `--like`; None if it is not given."""
    if history is None:
        if last is not None:
            raise UserMistake("--last: it is about the history of --like, and no recorded job is given")
        return None
    from penstock.cli.histories import last_of, like

    return like(history, last_of(USUAL_LAST if last is None else last, LEAST_LAST_S), seed)


def load_of(trace: Path | None, like: Like | None) -> tuple[str, Arrivals]:
    """Return the arrivals and their name: the trace, or those of the recorded job."""
    if trace is not None:
        name, load = trace.name, read_trace(trace)
    elif like is not None:
        name, load = like.name, like.load
    else:
        raise UserMistake("--trace: a CSV file of arrivals is needed, or --like with a recorded job")
    if trace is None and like is not None:
        like.refuse_short()
    if load.lasts_s < SHORTEST_RUN_S:
        raise UserMistake(f"{trace or name}: it lasts {load.lasts_s:g} s, at least {SHORTEST_RUN_S:g} s are needed")
    return name, load
