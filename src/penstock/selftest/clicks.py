"""The clicks job for a measurement: an embedded broker, a feeder at a constant rate, a query that counts; gone at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from penstock.selftest.workload import with_rate, workload_job
from penstock.wiring.job import RunningJob

DEMO, REAL_TIME = "penstock-demo-realtime", '{ real_time = "10s" }'
FED, QUERY, OUTPUT = "clicks", "counted", "counts"
ANSWER_S = 120.0


@contextmanager
def clicks_job(name: str, rate_rows_per_s: float, trigger: str = REAL_TIME) -> Iterator[RunningJob]:
    def changed(toml: str) -> str:
        return with_rate(toml.replace(DEMO, name).replace(REAL_TIME, trigger), f"constant({rate_rows_per_s:g})")

    with workload_job("clicks", name, changed) as job:
        yield job


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + ANSWER_S
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} did not come within {ANSWER_S:.0f} s")
        time.sleep(0.1)
