"""A job of `workloads` for a measurement, changed as the measurement wants it; gone at the end."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from penstock.runtime.home import JobFolder, home
from penstock.runtime.jobfile import load_job
from penstock.wiring.job import RunningJob


@contextmanager
def workload_job(workload: str, name: str, changed: Callable[[str], str]) -> Iterator[RunningJob]:
    """Runs the workload as a job of this name; `changed` makes its job file from the workload's own."""
    home().mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=home()))
    source = files("penstock") / "workloads" / workload
    (folder / "job.toml").write_text(changed((source / "job.toml").read_text()))
    (folder / "job.py").write_text((source / "job.py").read_text())
    shutil.rmtree(JobFolder(name).path, ignore_errors=True)
    job = RunningJob(load_job(folder / "job.toml"), spark_log=folder / "spark.log")
    try:
        job.start()
        yield job
    finally:
        job.stop("the measurement is over")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(JobFolder(name).path, ignore_errors=True)


def with_rate(toml: str, rate: str) -> str:
    """A job file with another rate for its only trace or feed.

    >>> with_rate('[sources.a]' + chr(10) + 'rate = "constant(5)"' + chr(10), "constant(9)")
    '[sources.a]\\nrate = "constant(9)"\\n'
    """
    line = next(line for line in toml.splitlines() if line.startswith("rate ="))
    return toml.replace(line, f'rate = "{rate}"')


def with_csv(toml: str, csv: Path) -> str:
    """A job file whose only trace follows a file of rates.

    >>> with_csv('[sources.a]' + chr(10) + 'rate = "constant(5)"' + chr(10), Path("/tmp/load.csv"))
    '[sources.a]\\ncsv = "/tmp/load.csv"\\n'
    """
    line = next(line for line in toml.splitlines() if line.startswith("rate ="))
    return toml.replace(line, f'csv = "{csv}"')
