"""The same saturated, CPU-bound query plain and under Penstock, batch by batch in turns."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import psutil

import penstock
from penstock.bench.cluster import place
from penstock.bench.overhead.cost import Batch, Overhead, overhead_of
from penstock.bench.overhead.processes import Processes, driver_memory_mb
from penstock.bench.overhead.turns import CONF, ROWS, Fuel, Turns
from penstock.runtime.home import JobFolder

EXECUTORS = 2
JOB = "bench-overhead"
WARM_UP = 8
"""Batches of each query that do not count."""
ALONE = 12
"""Batches of the plain query before there is another, to know what the driver takes without the loop."""


def measure_overhead(pairs: int, progress: Callable[[int, int], None]) -> Overhead:
    """Which of the two comes first alternates.

    The loop watches during both batches of a pair: what it takes of the machine is measured by itself, as the driver's CPU during batches of the plain
    query with the loop and without.
    """
    total = WARM_UP + ALONE + WARM_UP + 2 * pairs
    done = 0

    def take(turns: Turns, query: Any, times: int) -> list[Batch]:
        nonlocal done
        taken = []
        for _ in range(times):
            taken.append(one_batch(turns, query))
            done += 1
            progress(done, total)
        return taken

    with place(JOB, EXECUTORS, **CONF) as there:
        fuel = Fuel.made(there.session, there.folder / "fuel")
        plain, under = Turns(there.folder / "plain", fuel), Turns(there.folder / "under", fuel)
        plain_query = plain.writer(there.session).start()
        take(plain, plain_query, WARM_UP)
        alone, alone_mb = take(plain, plain_query, ALONE), driver_memory_mb(there.session)
        query = penstock.start(under.writer(there.session), job=JOB, arrival_column="timestamp", max_executors=EXECUTORS)
        try:
            take(under, query, WARM_UP)
            plain_batches: list[Batch] = []
            under_batches: list[Batch] = []
            for pair in range(pairs):
                both = [(plain, plain_query, plain_batches), (under, query, under_batches)]
                for turns, its_query, batches in both if pair % 2 == 0 else reversed(both):
                    batches.extend(take(turns, its_query, 1))
            held_mb = driver_memory_mb(there.session)
        finally:
            query.stop()
            plain_query.stop()
            shutil.rmtree(JobFolder(JOB).path, ignore_errors=True)
    return overhead_of(alone, plain_batches, under_batches, rows_per_batch=ROWS, cores=psutil.cpu_count() or EXECUTORS, extra_mb=held_mb - alone_mb)


def one_batch(turns: Turns, query: Any) -> Batch:
    processes = Processes()
    cpu_s, driver_cpu_s = processes.cpu_s(), processes.driver_cpu_s()
    wall_s = turns.take(query)
    return Batch(wall_s=wall_s, cpu_s=processes.cpu_s() - cpu_s, driver_cpu_s=processes.driver_cpu_s() - driver_cpu_s)
