from pathlib import Path

import pytest
from jobfiles import write

from penstock.core.domain.autopilot import Chosen
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.fault import Fault
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.report.run_report import RunReport
from penstock.experiments.cell import Cell, SparkJob
from penstock.experiments.runner import run_cells
from penstock.kafka.broker import EmbeddedBroker
from penstock.kafka.topics import partitions_of
from penstock.runtime.jobfile import load_job

JOB = """
name = "original"
master = "embedded"
checkpoint = "checkpoint"
limits = {{ max_executors = 2 }}
settings = {{ reading_interval_s = 1, reading_window_s = 4 }}
sources.numbers = {{ format = "kafka", subscribe = "numbers", startingOffsets = "earliest" }}
[kafka]
bootstrap = "{broker}"
topics = {{ numbers = 2, passed = 2 }}
feeds.numbers = {{ rate = "constant(50)" }}
[queries.q]
function = "job.py:counted"
trigger = "2s"
sink = {{ format = "kafka", topic = "passed" }}
"""
RATE, SECONDS = 300.0, 60.0


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.timeout(2400)
def test_a_cell_on_spark_runs_a_copy_with_topics_of_its_own_strikes_it_and_leaves_nothing(broker: EmbeddedBroker, tmp_path: Path, state_home: Path) -> None:
    code = "def counted(numbers):\n    return numbers.selectExpr('key', 'value')\n"
    plant = SparkJob(spec=load_job(write(tmp_path, job=JOB.format(broker=broker.bootstrap), code=code)).spec)
    load, client, during, shares = Arrivals.through((0.0, SECONDS), (RATE, RATE)), {"bootstrap.servers": broker.bootstrap}, set[str](), list[float]()
    cell = Cell(workload=load, plant=plant, configuration=Configuration(executors=2), policy=Chosen(name="static"), faults=(Fault(at_s=20.0),))

    def progress(done: float, total: int) -> None:
        shares.append(done)
        during.update(partitions_of(client) if 0.4 < done < 0.5 else ())

    before, store = set(partitions_of(client)), tmp_path / "cells.jsonl"
    report = run_cells({"killed": cell}, RunReport, store, progress=progress).complete()["killed"]
    assert report.duration_s == pytest.approx(SECONDS, abs=5.0) and report.failures == 1 and 1.5 < report.average_executors <= 2.0
    assert report.arrived_rows == pytest.approx(RATE * SECONDS, rel=0.1) and report.processed_rows == pytest.approx(RATE * SECONDS, rel=0.2)
    assert len(shares) > 50 and shares == sorted(shares), "a run of minutes shows that it goes on"
    assert {name.rpartition("-")[2] for name in during - before} == {"numbers", "passed"} and all("original-copy-" in name for name in during - before)
    assert set(partitions_of(client)) == before and not list((state_home / "experiments").glob("*/original*"))
    assert run_cells({"killed": cell}, RunReport, store).reused == 1
