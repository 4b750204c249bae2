"""The same saturated, CPU-bound query plain and under Penstock, some batches of each in turns."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil

import penstock
from penstock.runtime.home import JobFolder
from penstock.selftest.cluster import place
from penstock.selftest.overhead.cost import Overhead, Start, Turn, overhead_of
from penstock.selftest.overhead.kept import Kept
from penstock.selftest.overhead.processes import Driver, driver_memory_mb
from penstock.selftest.overhead.turns import BATCHES, CONF, ROWS, Fuel, Turns
from penstock.selftest.overhead.work import WorkReader
from penstock.spark.jvm import StatusStore

EXECUTORS = 2
JOB = "selftest-overhead"
WARM_UP = 2
"""Turns of each query that do not count."""
ALONE = 2
"""Turns of the plain query before there is another, to know what the driver takes without the loop."""


def measure_overhead(starts: int, pairs: int, keep: Path | None, progress: Callable[[int, int], None]) -> Overhead:
    """So many starts of the executors, and so many pairs of turns after each; which query is there first alternates."""
    each = 2 * WARM_UP + ALONE + 2 * pairs
    kept = Kept(keep, pairs)
    measured = list(kept.starts()[:starts])
    for number in range(len(measured), starts):
        done = number * each

        def count(turns: int, before: int = done) -> None:
            progress(before + turns, starts * each)

        measured.append(measure_start(pairs, plain_first=number % 2 == 0, count=count))
        kept.add(measured[-1])
    return overhead_of(measured, rows_per_turn=BATCHES * ROWS, cores=psutil.cpu_count() or EXECUTORS)


def measure_start(pairs: int, *, plain_first: bool, count: Callable[[int], None]) -> Start:
    """One start.

    The loop watches during both turns of a pair: what it takes of the machine is measured by itself, as the driver's CPU during turns of the plain query
    with the loop and without.
    """
    done = 0

    def take(turns: Turns, query: Any, times: int) -> tuple[Turn, ...]:
        nonlocal done
        taken = []
        for _ in range(times):
            taken.append(one_turn(turns, query, work))
            done += 1
            count(done)
        return tuple(taken)

    with place(JOB, EXECUTORS, **CONF) as there, ExitStack() as running:
        work = WorkReader(StatusStore(there.session))
        fuel = Fuel.made(there.session, there.folder / "fuel")
        plain, under = Turns(there.folder / "plain", fuel), Turns(there.folder / "under", fuel)

        def start_plain() -> Any:
            query = plain.writer(there.session).start()
            running.callback(query.stop)
            take(plain, query, WARM_UP)
            return query

        def start_under() -> Any:
            running.callback(shutil.rmtree, JobFolder(JOB).path, ignore_errors=True)
            query = penstock.start(under.writer(there.session), job=JOB, arrival_column="timestamp", max_executors=EXECUTORS)
            running.callback(query.stop)
            take(under, query, WARM_UP)
            return query

        if plain_first:
            plain_query = start_plain()
            alone, before_mb = take(plain, plain_query, ALONE), driver_memory_mb(there.session)
            query = start_under()
        else:
            query, plain_query, alone, before_mb = start_under(), start_plain(), (), None
        taken = take_pairs(take, (plain, plain_query), (under, query), pairs)
        extra_mb = None if before_mb is None else driver_memory_mb(there.session) - before_mb
    return Start(alone=alone, plain=taken[0], under=taken[1], driver_extra_mb=extra_mb)


def take_pairs(take: Any, plain: tuple[Turns, Any], under: tuple[Turns, Any], pairs: int) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
    """Which of the two comes first alternates."""
    plain_turns: list[Turn] = []
    under_turns: list[Turn] = []
    for pair in range(pairs):
        both = [(plain, plain_turns), (under, under_turns)]
        for (turns, query), taken in both if pair % 2 == 0 else reversed(both):
            taken.extend(take(turns, query, 1))
    return tuple(plain_turns), tuple(under_turns)


def one_turn(turns: Turns, query: Any, work: WorkReader) -> Turn:
    driver = Driver()
    before_s = driver.cpu_s()
    wall_s = turns.take(query)
    driver_cpu_s = driver.cpu_s() - before_s
    return Turn(wall_s=wall_s, work_s=work.since_last(query).alone_s(wall_s, EXECUTORS), driver_cpu_s=driver_cpu_s)
