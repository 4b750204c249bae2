"""`penstock replay`: verify the decisions of a recorded run byte for byte, or estimate what another policy would have done."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli import EXIT_INTERNAL
from penstock.cli.histories import history_named, last_of, read_last
from penstock.cli.report import JsonOption, PlotOption, bar, needed
from penstock.cli.simulate_options import LEAST_LAST_S, USUAL_LAST, SeedOption, limits_of, policies_of, promises_of
from penstock.cli.terminal import day_time
from penstock.cli.whatif_table import present_what_if
from penstock.core.errors import UserMistake
from penstock.hindsight.verify import verify as verified
from penstock.hindsight.whatif import Asked, WhatIf, calibrated_by, what_if
from penstock.stores.reader import HistoryReader
from penstock.stores.recorder import Recorder, this_penstock

USUAL_POLICY = "auto"


def replay(
    history: Annotated[str, typer.Argument(help="A history file, or the name of a job that has one.", metavar="HISTORY.DB|JOB")],
    verify: Annotated[bool, typer.Option("--verify", help="Decide again from the recorded inputs, and compare byte for byte.")] = False,
    policy: Annotated[
        str | None, typer.Option(help="Estimate the run under this policy (default: auto), several (hpa(80),auto), or all of them.", metavar="NAME,...|all")
    ] = None,
    target_recovery: Annotated[float | None, typer.Option(help="Estimate it with this promised recovery time in seconds.")] = None,
    promise_latency_ms: Annotated[float | None, typer.Option(help="Estimate it with this promised p95 latency in milliseconds.")] = None,
    max_executors: Annotated[int | None, typer.Option(help="Estimate it with this maximum number of executors.")] = None,
    last: Annotated[str, typer.Option(help="Use only the last part of the history (not with --verify).", metavar="DURATION")] = USUAL_LAST,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    plot: PlotOption = None,
) -> None:
    """Replay a recorded run: verify it, or try another policy on it.

    Without --verify it estimates what another policy, other promises or another maximum would have done.
    """
    if verify:
        asked = {"policy": policy, "target-recovery": target_recovery, "promise-latency-ms": promise_latency_ms, "max-executors": max_executors, "plot": plot}
        for name, given in asked.items():
            if given is not None:
                raise UserMistake(f"--{name}: --verify replays what was recorded as it was; leave one of the two out")
        verify_history(history_named(history), as_json)
    else:
        needed(0, above=True, target_recovery=target_recovery, promise_latency_ms=promise_latency_ms)
        needed(1, max_executors=max_executors)
        wanted, last_s = policy or USUAL_POLICY, last_of(last, LEAST_LAST_S)
        found = what_if_of(history, policies_of(wanted), last_s, target_recovery, promise_latency_ms, max_executors, seed)
        present_what_if(found, as_json=as_json, plot=plot)


def verify_history(path: Path, as_json: bool) -> None:
    """Decide again from the recorded inputs; exit with code 1 if a decision differs."""
    with HistoryReader.open(path) as reader, bar("turns") as progress:
        done = verified(reader, progress=progress)
    difference = done.first_difference
    if as_json:
        first = None if difference is None else {**asdict(difference), "recorded_by": None if done.recorder is None else asdict(done.recorder)}
        this = asdict(this_penstock())
        typer.echo(json.dumps({"history": str(path), "turns": done.turns, "keyframes": done.keyframes, "first_difference": first, "replayed_by": this}))
    else:
        typer.echo(f"{path}: {done.turns:,} turns from {done.keyframes:,} keyframe{'' if done.keyframes == 1 else 's'}")
        if not done.turns:
            typer.echo("nothing to verify: no turn is recorded with its inputs")
        elif difference is None:
            typer.echo("the same decisions, byte for byte")
        else:
            other = other_version_words(done.recorder, this_penstock())
            typer.echo(f"turn {difference.turn}, at {day_time(difference.at_s)}, is the first that differs{other}")
            typer.echo(f"recorded: {difference.recorded or 'nothing more that the history holds'}")
            typer.echo(f"replayed: {difference.replayed or 'nothing more'}")
    if difference is not None:
        raise typer.Exit(EXIT_INTERNAL)


def other_version_words(recorder: Recorder | None, this: Recorder) -> str:
    """Say that another version of Penstock recorded the run; empty if it was this one.

    >>> old, new = Recorder(version="0.1.0", core="5f2a90c1b7de"), Recorder(version="0.2.0", core="77aa01b2c3d4")
    >>> other_version_words(old, new)
    '; recorded by another version (0.1.0, core 5f2a90c1b7de; this is 0.2.0, core 77aa01b2c3d4): decisions may differ for that reason'
    >>> other_version_words(new, new)
    ''
    """
    return "" if recorder == this else f"; recorded by another version ({recorder}; this is {this}): decisions may differ for that reason"


def what_if_of(
    history: str, policies: tuple[str, ...], last_s: float, recovery_s: float | None, latency_ms: float | None, most: int | None, seed: int
) -> WhatIf:
    path = history_named(history)
    readings, events, ran_under = read_last(path, last_s)
    try:
        like = calibrated_by(history, readings, events, seed, ran_under)
        limits = limits_of(None, most, None, like)
        promises = promises_of(latency_ms, recovery_s, like)
        asked = Asked(policies=policies, limits=limits, promises=promises, seed=seed)
        with bar("simulated seconds") as progress:
            return what_if(like, readings, asked, lambda done_s, total_s: progress(round(done_s), round(total_s)))
    except UserMistake as mistake:
        raise UserMistake(f"{path}: {str(mistake).removeprefix(f'{history}: ')}") from None
