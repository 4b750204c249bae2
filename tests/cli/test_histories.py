from dataclasses import replace
from pathlib import Path

import pytest
from asked import found
from recorded_history import simulated

from penstock.cli.histories import like
from penstock.core.domain.reading import Reading
from penstock.simulator.engine_settings import ContinuousSettings

CORES = 0.5


def held_to_a_share(reading: Reading) -> Reading:
    """Executors of two slots that do the same work with half a core each."""
    executors = (replace(each, slots=2, cpu_cores=None if each.cpu_cores is None else CORES * each.cpu_cores) for each in reading.executors)
    return replace(reading, executors=tuple(executors))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated(tmp_path_factory.mktemp("whole") / "history.db", policy="hpa")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same job on executors that are held to a share of a core, as its owner says."""
    return simulated(tmp_path_factory.mktemp("shared") / "history.db", policy="hpa", seen=held_to_a_share, executor_cpu_cores=CORES)


def test_what_an_executor_carries_is_found_by_the_cores_that_count_as_a_whole_one(shared: Path) -> None:
    settings = like(str(shared), 86400.0, 0).found.settings
    assert isinstance(settings, ContinuousSettings) and settings.capacity_rows_per_s == pytest.approx(1000.0, rel=0.05)


@pytest.mark.parametrize("asked", [("replay",), ("simulate", "--like")], ids=["replay", "simulate"])
def test_a_policy_needs_as_many_executors_however_their_cores_are_counted(whole: Path, shared: Path, asked: tuple[str, ...]) -> None:
    by_core, by_share = (found(*asked, path, "--policy", "hpa_paper") for path in (whole, shared))
    one, other = (each["policies"][0] if asked == ("replay",) else each for each in (by_core, by_share))
    assert one["engine"] == other["engine"] == "continuous"
    assert 4.0 < one["average_workers"] < 7.0, "for a load of 2,500 to 4,500 rows/s at 80 % of 1,000 each"
    assert other["average_workers"] == pytest.approx(one["average_workers"], rel=0.05)
