from pathlib import Path

import pytest

from penstock.core.monitor.facts import CpuWanted
from penstock.spark.contention import ContentionMeter


def written(proc: Path, *, busy_s: float, stolen_s: float, threads: dict[tuple[int, int], tuple[float, float]]) -> None:
    """The files of Linux, with a hundred ticks a second."""
    proc.mkdir(exist_ok=True)
    (proc / "stat").write_text(f"cpu  {round(100 * busy_s)} 0 0 500 0 0 0 {round(100 * stolen_s)} 0 0\ncpu0 1 2 3\n")
    for (pid, tid), (ran_s, waited_s) in threads.items():
        folder = proc / str(pid) / "task" / str(tid)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "schedstat").write_text(f"{round(1e9 * ran_s)} {round(1e9 * waited_s)} 7\n")


@pytest.mark.parametrize(
    ("busy_s", "stolen_s", "ran_s", "waited_s", "taken"),
    [
        pytest.param(4.0, 0.0, 4.0, 6.0, 0.0, id="alone on the machine: its own threads wait for each other"),
        pytest.param(20.0, 0.0, 10.0, 10.0, 0.25, id="others are busy for half of the time"),
        pytest.param(10.0, 10.0, 10.0, 0.0, 0.5, id="half of the time is stolen"),
        pytest.param(10.0, 0.0, 10.0, 0.0, 0.0, id="nobody waits"),
    ],
)
def test_others_are_charged_with_what_the_job_wanted_and_they_took(
    tmp_path: Path, busy_s: float, stolen_s: float, ran_s: float, waited_s: float, taken: float
) -> None:
    proc = tmp_path / "proc"
    meter = ContentionMeter(proc)
    written(proc, busy_s=100.0, stolen_s=3.0, threads={(1, 1): (5.0, 1.0), (1, 2): (1.0, 1.0)})
    assert meter.look([1]) == CpuWanted(wanted_s=0.0, taken_s=0.0)
    written(proc, busy_s=100.0 + busy_s, stolen_s=3.0 + stolen_s, threads={(1, 1): (5.0 + ran_s / 2, 1.0 + waited_s), (1, 2): (1.0 + ran_s / 2, 1.0)})
    found = meter.look([1])
    assert found is not None and found.taken_s / found.wanted_s == pytest.approx(taken, abs=0.01)


def test_threads_that_come_and_go_count_from_when_they_are_seen(tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    meter = ContentionMeter(proc)
    written(proc, busy_s=10.0, stolen_s=0.0, threads={(1, 1): (5.0, 1.0)})
    meter.look([1, 404])
    written(proc, busy_s=12.0, stolen_s=0.0, threads={(1, 1): (6.0, 1.0), (2, 2): (90.0, 90.0)})
    found = meter.look([1, 2])
    assert found is not None and found.wanted_s == pytest.approx(1.0)


def test_where_nothing_can_be_read_nothing_is_known(tmp_path: Path) -> None:
    assert ContentionMeter(tmp_path / "nowhere").look([1]) is None
