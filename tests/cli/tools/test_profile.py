"""`penstock fit profile`: latency over scale-out and rate."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from asked import drawn, found, table

from penstock.core.models.latency.phoebe import MOST_ROWS
from penstock.tables.measurements import read_profile

SCALEOUTS = (2, 6, 10, 14)


def profiled(limit: float = 9000.0) -> list[str]:
    """As Phoebe profiles: rates rise in steps until a copy falls behind."""
    rng = np.random.default_rng(1)
    return [
        f"{s},{rate},{(600 + 80 / (1 - rate / (limit * s)) if rate < 0.967 * limit * s else 60_000 * rng.uniform(0.8, 1.2)) * rng.lognormal(0, 0.05):.0f}"
        for s in SCALEOUTS
        for rate in range(6_000, int(1.1 * limit) * s, 6_000 if s < 6 else 12_000)
    ]


def written(folder: Path, rows: list[str], header: str = "scaleout,rate,latency_ms") -> Path:
    path = folder / "profile.csv"
    path.write_text(f"{header}\n" + "\n".join(rows))
    return path


def test_a_profile_gives_latency_validity_and_the_knee_of_each_scale_out_that_has_one(tmp_path: Path) -> None:
    fitted = found("fit", "profile", written(tmp_path, [*profiled(), "24,12000,640", "24,60000,660", "24,96000,690"]))
    assert fitted["mape"] < fitted["constant_mape"] and fitted["validity_accuracy"] > 0.8
    assert 0.5 <= fitted["constant_validity_accuracy"] < fitted["validity_accuracy"]
    assert list(fitted["t_max"]) == ["2", "6", "10", "14", "24"] and fitted["t_max"]["24"] is None
    assert [fitted["t_max"][str(s)] for s in (2, 6)] == [18_000, 54_000]


@pytest.mark.long
def test_neither_the_order_of_rows_nor_rows_that_are_there_twice_change_a_knee(tmp_path: Path) -> None:
    rows = profiled() * 2
    random.Random(1).shuffle(rows)
    fitted = found("fit", "profile", written(tmp_path, rows))
    assert fitted["mape"] < fitted["constant_mape"] and [fitted["t_max"][str(s)] for s in (2, 6)] == [18_000, 54_000]


def test_validity_as_given_overrules_the_latency_and_cells_without_it_are_judged_by_the_limit(tmp_path: Path) -> None:
    rows = [f"{s},{rate},{100 + rate / 100},{'' if rate == 100 else 'yes' if rate <= 100 * s else 'no'}" for s in (2, 4) for rate in range(100, 700, 100)]
    fitted = found("fit", "profile", written(tmp_path, rows, "scaleout,rate,latency_ms,valid"), "--limit-ms", "1000")
    assert fitted["t_max"] == {"2": 300, "4": 500}


@pytest.mark.parametrize("rows", [[f"4,{rate},{300 + rate}" for rate in range(100, 900, 100)], [f"{s},500,{900 + 100 / s}" for s in (1, 2, 3, 4, 6, 8)]])
def test_one_scale_out_or_one_rate_is_answered(tmp_path: Path, rows: list[str]) -> None:
    fitted = found("fit", "profile", written(tmp_path, rows))
    assert fitted["mape"] < 0.5 and set(fitted["t_max"].values()) == {None}


def test_of_a_million_rows_those_kept_are_spread_over_all_scale_outs_and_rates(tmp_path: Path) -> None:
    rows = profiled()
    few, many = (read_profile(written(tmp_path, each)) for each in (rows, rows + [rows[0]] * (1_000_000 - len(rows))))
    assert len(many) <= MOST_ROWS and set(few) <= set(many)


@pytest.mark.long
def test_a_million_rows_are_answered(tmp_path: Path) -> None:
    rows = profiled()
    fitted = found("fit", "profile", written(tmp_path, rows * (1_000_000 // len(rows) + 1)))
    assert fitted["mape"] < fitted["constant_mape"] and [fitted["t_max"][str(s)] for s in (2, 6)] == [18_000, 54_000]


def test_the_table_says_the_forms_their_errors_and_the_knees(tmp_path: Path) -> None:
    said = table("fit", "profile", written(tmp_path, profiled()[::2]))
    assert "latency over scale-out and rate" in said and "validity by" in said and "the paper's boosting" in said and "validity foretold" in said
    assert re.search(r"validity foretold \d+%; a constant \d+%", said)
    assert "t_max at 2 " in said and "t_max at 14 " in said and "rows/s" in said


def test_the_picture_has_a_shade_for_each_scale_out(tmp_path: Path) -> None:
    picture = drawn(tmp_path, "fit", "profile", written(tmp_path, profiled()[::2]))
    assert all(f"<!-- {s} -->" in picture for s in SCALEOUTS) and "Latency by scale-out" in picture and "<!-- latency (ms) -->" in picture
