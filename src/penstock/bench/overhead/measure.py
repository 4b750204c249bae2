"""The same saturated, CPU-bound query plain and under Penstock, batch by batch in turns."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from statistics import median
from typing import Any

import psutil

import penstock
from penstock.bench.cluster import place
from penstock.bench.overhead.cost import Overhead, cost_of
from penstock.bench.overhead.driver import Driver
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

    The loop watches during both turns of a pair: what it takes of the machine is measured by itself, as the driver's CPU during turns of the
    plain query with the loop and without.
    """
    total = WARM_UP + ALONE + WARM_UP + 2 * pairs
    done = 0

    def take(turns: Turns, query: Any, times: int) -> list[float]:
        nonlocal done
        taken = []
        for _ in range(times):
            taken.append(turns.take(query))
            done += 1
            progress(done, total)
        return taken

    with place(JOB, EXECUTORS, **CONF) as there:
        fuel = Fuel.made(there.session, there.folder / "fuel")
        plain, under = Turns(there.folder / "plain", fuel), Turns(there.folder / "under", fuel)
        plain_query = plain.writer(there.session).start()
        take(plain, plain_query, WARM_UP)
        driver = Driver()
        alone = [driver_cores(driver, lambda: take(plain, plain_query, 1)) for _ in range(ALONE)]
        alone_rss_mb = driver.rss_mb()
        query = penstock.start(under.writer(there.session), job=JOB, arrival_column="timestamp", max_executors=EXECUTORS)
        try:
            take(under, query, WARM_UP)
            times: dict[bool, list[float]] = {False: [], True: []}
            watched = []
            for pair in range(pairs):
                for observed in (False, True) if pair % 2 == 0 else (True, False):
                    if observed:
                        times[True] += take(under, query, 1)
                    else:
                        watched.append(driver_cores(driver, lambda: times[False].extend(take(plain, plain_query, 1))))
        finally:
            query.stop()
            plain_query.stop()
            shutil.rmtree(JobFolder(JOB).path, ignore_errors=True)
    return cost_of(
        times[False],
        times[True],
        rows_per_batch=ROWS,
        cores=psutil.cpu_count() or EXECUTORS,
        extra_cpu_cores=max(0.0, median(watched) - median(alone)),
        extra_rss_mb=driver.rss_mb() - alone_rss_mb,
    )


def driver_cores(driver: Driver, work: Callable[[], object]) -> float:
    before_cpu_s, before_s = driver.spent()
    work()
    after_cpu_s, after_s = driver.spent()
    return (after_cpu_s - before_cpu_s) / (after_s - before_s)
