"""Benchmark jobs as `penstock init --workload` writes them, on a real broker, in micro-batches and in Real-Time Mode."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from topic_reader import read_messages
from workloads.references import Event, compare, event_of, result_of

from penstock.cli.init import benchmark_job
from penstock.workloads.catalogue import BENCHMARKS

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(1600)]
TRACE = "t,rate\n0,200\n60,200\n60.1,0\n61,0\n"
"""A minute of rows; then nothing comes any more."""
PARTITIONS = 4


def events_in(bootstrap: str, topics: tuple[str, ...]) -> list[Event]:
    """Return what was fed, in the order of arrival."""
    found = [(message.timestamp()[1], json.loads(message.value() or b"")) for topic in topics for message in read_messages(bootstrap, topic, PARTITIONS)]
    return sorted((event_of(row, at_ms) for at_ms, row in found), key=lambda event: int(event["arrival"]))


@pytest.mark.parametrize(
    ("name", "real_time"),
    [(each.name, mode) for each in BENCHMARKS.values() for mode in (False, True) if not mode or any(query.in_real_time for query in each.queries)],
)
def test_a_benchmark_job_finds_on_kafka_what_a_computation_row_by_row_finds(job_process: Callable[..., Any], name: str, real_time: bool) -> None:
    of, texts = BENCHMARKS[name], benchmark_job(name, kafka=True, real_time=real_time)
    toml = re.sub(r"rate = .*", 'csv = "trace.csv"\nat_end = "stop"', texts["job.toml"])
    toml = re.sub(r"max_executors = 4", "max_executors = 2", toml) + "\n[settings]\nreading_interval_s = 2\nreading_window_s = 6\n"
    with job_process(f"{name.replace('_', '-')}{'-rt' if real_time else ''}", toml, texts["job.py"], {"trace.csv": TRACE}) as job:
        queries = [each for each in of.queries if each.in_real_time or not real_time]
        for query in queries:
            job.wait_until(lambda query=query: job.query(query.name).get("latency"), 200, f"the first results of {query.name}")
        job.wait_until(lambda: not job.status()["reading"]["queries"][0]["arrival_rows_per_s"], 120, "the end of the load")
        for query in queries:
            job.wait_until(lambda query=query: job.has_caught_up(query.name), 120, f"the last rows of {query.name}")
        events = events_in(job.bootstrap, of.sources)
        for query in queries:
            results = [result_of((message.value() or b"").decode()) for message in read_messages(job.bootstrap, query.name, 1)]
            assert compare(query.name, events, results) > 20
        assert job.stop() == 0
