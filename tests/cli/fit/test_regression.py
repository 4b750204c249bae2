import random
from pathlib import Path

import numpy as np
import pytest
from asked import drawn, found, table

from penstock.selftest.worlds.khaos import latencies, recoveries

RECOVERY = [f"{r.interval_s},{r.rate_rows_per_s},{r.recovery_s}" for r in recoveries("worst_case", 3)]
LATENCY = [f"{r.interval_s},{r.rate_rows_per_s},{1000 * r.latency_s}" for r in latencies("mean_pauses", 3)]
FILES = {"recovery": ("interval_s,rate,recovery_s\n", RECOVERY), "latency": ("interval_s,rate,latency_ms\n", LATENCY)}


def written(folder: Path, what: str, rows: list[str] | None = None) -> Path:
    path = folder / f"{what}.csv"
    header, all_rows = FILES[what]
    path.write_text(header + "\n".join(all_rows if rows is None else rows))
    return path


@pytest.mark.parametrize("what", FILES)
@pytest.mark.parametrize("leave_out", ["interval", "one"])
def test_the_error_is_that_of_what_was_held_out(tmp_path: Path, what: str, leave_out: str) -> None:
    path = written(tmp_path, what, FILES[what][1][:: 1 if leave_out == "interval" else 3])
    fitted = found("fit", what, path, "--leave-out", leave_out)
    assert fitted["mape"] < 0.16 and fitted["mape"] < fitted["constant_mape"] and fitted["form"] and fitted["leave_out"] == leave_out
    assert fitted["parts"] == (5 if leave_out == "interval" else 20) and fitted["paper_mape"] > 0


@pytest.mark.parametrize("what", FILES)
def test_where_the_executors_vary_they_are_a_third_input(tmp_path: Path, what: str) -> None:
    """A job of 250 rows/s an executor: without the number of executors the same rate means anything from idle to overload."""
    rng = np.random.default_rng(7)
    places = [(i, share * 250 * s, s, share) for i in (10, 30, 60, 120) for s in (2, 4, 8) for share in (0.3, 0.5, 0.7, 0.85)]
    truth = {"recovery": lambda i, u: 60 + (i + 60) * u / (1 - u), "latency": lambda i, u: 300 + 2000 / i + 200 * u / (1 - u)}[what]
    rows = [f"{i},{rate:.1f},{truth(i, share) * rng.lognormal(0, 0.04):.2f},{s}" for i, rate, s, share in places]
    path = tmp_path / f"{what}.csv"
    path.write_text(FILES[what][0].replace("\n", ",scaleout\n") + "\n".join(rows))
    fitted = found("fit", what, path)
    assert ("physical" if what == "recovery" else "pauses") in fitted["form"]
    assert fitted["mape"] < 0.1 < fitted["paper_mape"] and fitted["parts"] == 4 and fitted["held_out"] == 48
    without = found("fit", what, written(tmp_path, what, [row.rpartition(",")[0] for row in rows]))
    assert fitted["mape"] < 0.5 * without["mape"]


def test_of_more_than_sixty_rows_some_are_left_out_at_a_time(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    rows = [f"{i},{r},{(60 + r * (i + 60) / (1000 - r)) * rng.lognormal(0, 0.05):.2f}" for i in (10, 40, 80, 120) for r in range(100, 900, 50)]
    fitted = found("fit", "recovery", written(tmp_path, "recovery", rows), "--leave-out", "one")
    assert fitted["held_out"] == 64 and fitted["parts"] == 20 and fitted["mape"] < 0.08 < fitted["constant_mape"]


def test_recoveries_longer_than_a_quarter_of_an_hour_are_flagged_and_those_of_it_are_not(tmp_path: Path) -> None:
    rows = [f"{i},{r},{60 + r * (i + 60) / (1000 - r):.2f}" for i in (10, 60, 120) for r in (200, 500, 800)]
    assert found("fit", "recovery", written(tmp_path, "recovery", [*rows, "30,500,900"]))["notes"] == []
    path = written(tmp_path, "recovery", [*rows, "30,900,901", "60,920,1400"])
    said = "2 of 11 recoveries took longer than 15 min: no rate stays constant that long, so they may belong to another rate"
    assert found("fit", "recovery", path)["notes"] == [said] and f"note {said[:40]}" in table("fit", "recovery", path)


def test_micro_batches_are_a_form_of_latency_that_wins_on_micro_batches(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows = [(i, r, 1000 * (0.5 * i + 0.4 + 4e-5 * r * i) * rng.lognormal(0, 0.04)) for i in (1, 2, 5, 10, 20) for r in range(2000, 22000, 4000)]
    fitted = found("fit", "latency", written(tmp_path, "latency", [f"{i},{r},{ms:.1f}" for i, r, ms in rows]))
    assert "micro-batches" in fitted["form"] and fitted["mape"] < 0.07 < fitted["paper_mape"]


def test_the_order_of_rows_changes_nothing_much(tmp_path: Path) -> None:
    rows = RECOVERY.copy()
    random.Random(1).shuffle(rows)
    ordered, shuffled = (found("fit", "recovery", written(tmp_path, "recovery", each)) for each in (RECOVERY, rows))
    assert shuffled["mape"] == pytest.approx(ordered["mape"], rel=1e-3) and shuffled["form"] == ordered["form"]


def test_gaps_in_the_grid_and_rows_that_are_there_twice_are_no_trouble(tmp_path: Path) -> None:
    some = random.Random(2).sample(RECOVERY, 25)
    once, twice = (found("fit", "recovery", written(tmp_path, "recovery", rows)) for rows in (some, some * 2))
    assert once["mape"] < 0.2 and twice["mape"] == pytest.approx(once["mape"], rel=0.1) and twice["rows"] == 50


@pytest.mark.parametrize("what", FILES)
def test_one_rate_or_one_interval_is_enough_to_learn_the_other(tmp_path: Path, what: str) -> None:
    one_rate = found("fit", what, written(tmp_path, what, [f"{interval},500,{100 + interval}" for interval in (10, 20, 40, 60, 90, 120)]))
    one_interval = found("fit", what, written(tmp_path, what, [f"30,{rate},{100 + rate / 10}" for rate in range(100, 900, 100)]), "--leave-out", "one")
    assert one_rate["mape"] < 0.1 and one_interval["mape"] < 0.05 and one_interval["intervals_s"] == [30]


@pytest.mark.long
def test_of_a_million_rows_those_kept_are_spread_over_all_intervals_and_rates(tmp_path: Path) -> None:
    """Nearly all are of one interval and a narrow range of rates: the few others must not be lost."""
    rng = np.random.default_rng(5)
    count = 1_000_000
    interval, rate = np.full(count, 60.0), rng.uniform(400, 410, count)
    interval[:40], rate[:40] = np.tile([10.0, 30.0, 90.0, 120.0], 10), np.repeat(np.linspace(100, 700, 10), 4)
    recovery = (60 + rate * (interval + 60) / (1000 - rate)) * rng.lognormal(0, 0.05, count)
    path = tmp_path / "failures.csv"
    path.write_text("interval_s,rate,recovery_s\n" + "\n".join(map("%.0f,%.2f,%.2f".__mod__, zip(interval, rate, recovery, strict=True))))
    fitted = found("fit", "recovery", path)
    assert fitted["rows"] == count and fitted["intervals_s"] == [10, 30, 60, 90, 120] and fitted["parts"] == 5 and fitted["held_out"] <= 500
    assert fitted["mape"] < 0.1


@pytest.mark.long
def test_a_million_latencies_are_answered(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    count = 1_000_000
    interval, rate = rng.choice([10.0, 30.0, 60.0, 120.0], count), rng.uniform(100, 700, count)
    latency = (500 + 2000 / interval + 200 * rate / (1000 - rate)) * rng.lognormal(0, 0.05, count)
    path = tmp_path / "runs.csv"
    path.write_text("interval_s,rate,latency_ms\n" + "\n".join(map("%.0f,%.2f,%.2f".__mod__, zip(interval, rate, latency, strict=True))))
    fitted = found("fit", "latency", path)
    assert fitted["rows"] == count and fitted["parts"] == 4 and fitted["mape"] < 0.1


@pytest.mark.parametrize("what", FILES)
def test_the_table_says_the_form_and_its_error_beside_a_constant_and_the_plane(tmp_path: Path, what: str) -> None:
    said = table("fit", what, written(tmp_path, what, FILES[what][1][::2]))
    assert f"{what} over interval and rate" in said and "form " in said and "error, leaving an interval out" in said
    assert "a constant" in said and "the paper's plane" in said and "plane alone" in said and "of 30 rows in 5 parts" in said


@pytest.mark.parametrize("what", FILES)
def test_the_picture_has_a_shade_for_each_interval(tmp_path: Path, what: str) -> None:
    picture = drawn(tmp_path, "fit", what, written(tmp_path, what, FILES[what][1][::2]))
    assert all(f"<!-- {interval} s -->" in picture for interval in (10, 30, 60, 90, 120)) and f"{what.capitalize()} by checkpoint interval" in picture
    assert f"<!-- {'recovery (s)' if what == 'recovery' else 'latency (ms)'} -->" in picture


def test_over_several_executors_the_picture_is_by_executor(tmp_path: Path) -> None:
    path = tmp_path / "failures.csv"
    rows = [(i, u * 300 * s, s, 60 + u * (i + 60) / (1 - u)) for i in (10, 60, 120) for s in (2, 4, 8) for u in (0.2, 0.5, 0.7)]
    path.write_text("interval_s,rate,scaleout,recovery_s\n" + "\n".join(f"{i},{r},{s},{y}" for i, r, s, y in rows))
    assert "rows/s by executor (lines: 4 executors)" in drawn(tmp_path, "fit", "recovery", path)
