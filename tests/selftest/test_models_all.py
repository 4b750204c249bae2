"""`penstock selftest models`: all targets of the models in one table, a miss told from a hit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from asked import found, table

from penstock.selftest.models import all as everything
from penstock.selftest.models import capacity, recovery, regressions
from penstock.selftest.models.measured import Measured, ModelsResult

ERRORS = ("error", "MAPE", "WAPE")


@pytest.fixture
def swings(tmp_path: Path) -> Path:
    """A folder with one short trace."""
    (tmp_path / "workloads").mkdir()
    time_s = np.arange(0, 4600, 10)
    rows = zip(time_s.tolist(), (1000 + 500 * np.sin(time_s / 800)).tolist(), strict=True)
    (tmp_path / "workloads" / "swing.csv").write_text("t,rate\n" + "\n".join(f"{t},{rate:.1f}" for t, rate in rows))
    return tmp_path / "workloads"


def only(target: object, name: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, name, {key: getattr(target, name)[key]})


def test_every_measured_row_stands_beside_a_constant_and_the_paper(swings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study: Callable[..., list[Measured]] = regressions.regressions
    monkeypatch.setattr(everything, "LOADS", {})
    monkeypatch.setattr(everything, "regressions", lambda: study(seeds=(100,)))
    for target, name, key in (
        (capacity, "LOADS", "rising"),
        (recovery, "LOADS", "sine"),
        (regressions, "LATENCIES", "mean_pauses"),
        (regressions, "RECOVERIES", "worst_case"),
    ):
        only(target, name, key, monkeypatch)
    result = found("selftest", "models", "--traces", swings, "--origins", 2, code=1)
    assert any(each["met"] is False for each in result["measured"]), "two forecasts of a short wave tell little of bounds, hence the exit code"
    errors = [each for each in result["measured"] if each["what"].endswith(ERRORS)]
    assert len(errors) == 6 + 4 + 3 + 1
    assert all(each["constant"] > 0 and each["paper"] > 0 for each in errors), errors
    assert [each["met"] for each in result["measured"] if each["most"] is None and each["least"] is None] == [None], "the WAPE, whose target is the mean gain"


def test_a_miss_is_told_from_a_hit(swings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(everything, "LOADS", {})
    monkeypatch.setattr(everything, "formula", lambda given: [])
    monkeypatch.setattr(everything, "regressions", list)
    monkeypatch.setattr(everything, "capacity", lambda data: [Measured(what="capacity: error", found=0.07, most=0.05, constant=0.4, paper=0.1)])
    said = table("selftest", "models", "--traces", swings, "--origins", 2, code=1)
    assert "capacity: error 0.07; target at most 0.05; MISSED; a constant 0.4; the paper 0.1" in said
    assert "median" in said and "better than the best alone" in said


@pytest.mark.parametrize(
    ("found_", "least", "most", "met", "wanted"),
    [(0.8, 0.7, 0.9, True, "0.7 to 0.9"), (0.95, 0.7, 0.9, False, "0.7 to 0.9"), (0.1, 0.1, None, True, "at least 0.1"), (0.3, None, None, None, "none")],
)
def test_a_target_is_met_within_its_bounds(found_: float, least: float | None, most: float | None, met: bool | None, wanted: str) -> None:
    measured = Measured(what="it", found=found_, least=least, most=most)
    assert measured.met is met and measured.wanted == wanted and ("MISSED" in measured.said) == (met is False)
    assert ModelsResult(measured=(measured,)).rows()[-1] == ("targets", "1 MISSED" if met is False else "all met")
