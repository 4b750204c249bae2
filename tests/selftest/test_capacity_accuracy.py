from pathlib import Path

import pytest

from penstock.selftest.capacity_accuracy import KINDS, SATURATED, VARYING, capacity, extrapolated, saturated
from penstock.selftest.worlds.uneven_executors import LOADS

MEASURED = Path("/work/shared/data") / SATURATED


@pytest.mark.parametrize("load", ["rising", "a sine"])
def test_a_load_that_varies_is_extrapolated_within_the_target_and_beside_the_paper(load: str) -> None:
    measured = extrapolated(load, 0.6)
    assert measured.met and measured.most == 0.05 and "worst" in measured.beside
    assert measured.paper is not None and measured.constant is not None and measured.found < measured.paper < measured.constant


@pytest.mark.parametrize("limit", [0.5, 0.6])
@pytest.mark.parametrize("load", VARYING)
@pytest.mark.parametrize("kind", KINDS)
def test_executors_that_are_not_alike_or_not_warm_are_extrapolated_within_the_target(kind: str, load: str, limit: float) -> None:
    measured = extrapolated(load, limit, kind)
    assert measured.met and measured.most == 0.05 and kind in measured.what
    assert measured.paper is not None and measured.found < measured.paper


def test_measured_executors_are_added_where_there_is_a_file_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.selftest.capacity_accuracy.LOADS", {"rising": LOADS["rising"]})
    lines = [f"{15 * moment},{worker},0.9{worker},1000" for moment in range(12) for worker in range(3)]
    (tmp_path / SATURATED).write_text("t_s,worker,cpu,throughput\n" + "\n".join(lines))
    without, everything = capacity().measured, capacity(tmp_path / SATURATED).measured
    generated = 2 + 2 * len(KINDS)
    assert without == everything[:generated] and len(without) == generated
    assert [each.found for each in everything[generated:]] == [pytest.approx(1 / 0.92 - 1), pytest.approx(0, abs=1e-6)]


@pytest.mark.skipif(not MEASURED.is_file(), reason="the measured data is not here")
def test_executors_measured_at_maximum_load_are_within_the_target() -> None:
    at_once, later = saturated(MEASURED)
    assert at_once.found <= 0.05 and "without skew" in at_once.beside and later.found <= 0.1
