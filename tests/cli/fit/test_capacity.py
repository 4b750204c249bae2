import math
import random
from pathlib import Path

import pytest
from asked import drawn, found, mistake, table, written

from penstock.core.models.capacity.executor_use import ExecutorUses
from penstock.selftest.worlds.uneven_executors import UnevenExecutors, rising, skewed

HEADER = "t_s,worker,utilization,throughput\n"


def workers_csv(path: Path, noise: float = 0.02) -> UnevenExecutors:
    chance = random.Random(5)
    workers = skewed(chance, utilization_noise=noise)
    write(path, workers.ramp(chance, rising(0.1, 0.95, 100)))
    return workers


def write(path: Path, readings: list[ExecutorUses]) -> None:
    lines = [
        f"{reading.at_s},{each.executor},{min(each.utilization, 1.2):.4f},{each.throughput_rows_per_s:.1f}" for reading in readings for each in reading.uses
    ]
    path.write_text(HEADER + "\n".join(lines))


def ramp(moments: int, workers: str = "ab", line: str = "{t},{w},{u:.4f},{z:.1f}") -> str:
    """UnevenExecutors that are as good as 1000 rows/s each."""
    each = [(15 * moment, worker, 0.1 + 0.5 * moment / moments) for moment in range(moments) for worker in workers]
    return HEADER + "\n".join(line.format(t=t, w=w, u=u, z=1000 * u) for t, w, u in each)


def test_capacity_is_extrapolated_from_half_the_load_within_five_per_cent(tmp_path: Path) -> None:
    path = tmp_path / "workers.csv"
    workers = workers_csv(path)
    half = found("fit", "capacity", path, "--max-utilization", 0.5)
    assert half["capacity"] == pytest.approx(workers.capacity, rel=0.05)
    assert half["low"] <= half["capacity"] <= half["high"]
    assert len(half["workers"]) == 12 and half["skew"] > 1
    assert sum(each["capacity"] for each in half["workers"]) == pytest.approx(half["capacity"], rel=1e-6)
    assert found("fit", "capacity", path, "--at", 0.5)["capacity"] == pytest.approx(workers.capacity / 2, rel=0.08)


def test_workers_read_at_moments_of_their_own_and_a_missing_reading_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "workers.csv"
    workers = workers_csv(path)
    header, *lines = path.read_text().splitlines()
    shifted = [f"{float(t) + int(worker) * 0.5},{worker},{rest}" for t, worker, rest in (line.split(",", 2) for line in lines)]
    path.write_text("\n".join([header, *shifted[:37], *shifted[38:]]))
    assert found("fit", "capacity", path)["capacity"] == pytest.approx(workers.capacity, rel=0.05)


def test_capacity_has_its_error_at_the_moments_that_were_held_out(tmp_path: Path) -> None:
    path = tmp_path / "workers.csv"
    workers_csv(path)
    half = found("fit", "capacity", path, "--max-utilization", 0.5)
    assert half["mape"] < 0.06 < half["constant_mape"] and half["paper_mape"] is not None


def test_without_a_limit_the_busiest_third_is_held_out_for_the_error(tmp_path: Path) -> None:
    path = tmp_path / "workers.csv"
    workers_csv(path)
    fitted = found("fit", "capacity", path)
    assert fitted["readings"] == 100, "the capacity itself is learnt from all"
    assert 0.6 < fitted["learnt_up_to"] < 0.72 and fitted["mape"] < 0.06 < fitted["constant_mape"] and fitted["paper_mape"] < 0.2


def test_where_all_moments_are_alike_the_error_is_unknown_and_says_why(tmp_path: Path) -> None:
    path = written(tmp_path / "workers.csv", ramp(12, line="{t},{w},0.5,500"))
    assert found("fit", "capacity", path)["mape"] is None
    assert "unknown: no readings of all executors above a utilisation of 0.5" in table("fit", "capacity", path)


def test_the_table_says_the_capacity_its_bounds_and_its_error(tmp_path: Path) -> None:
    path = written(tmp_path / "workers.csv", ramp(12))
    said = table("fit", "capacity", path)
    assert "capacity of 2 executors, the busiest at 100%" in said and "capacity 2,000 rows/s, between" in said and "in 4 of 5 cases" in said
    assert "executor a 1,000 rows/s at 100% of the busiest" in said and "of 4 moments; a constant" in said


def test_the_picture_shows_what_was_used_what_was_not_and_the_capacity(tmp_path: Path) -> None:
    path = tmp_path / "workers.csv"
    workers_csv(path)
    picture = drawn(tmp_path, "fit", "capacity", path, "--max-utilization", 0.5)
    for words in ("readings used", "readings left out", "4 of 5 cases", "capacity at 100%: ", "utilisation of the busiest executor", "workers.csv"):
        assert words in picture


@pytest.mark.parametrize(
    ("text", "capacity", "workers"),
    [
        pytest.param(ramp(12), 2000, 2, id="plain"),
        pytest.param(ramp(12, "a"), 1000, 1, id="one worker"),
        pytest.param(ramp(12) + "\n" + "\n".join(ramp(12).splitlines()[1:]), 2000, 2, id="every row twice"),
        pytest.param(HEADER + "\n".join(reversed(ramp(12).splitlines()[1:])), 2000, 2, id="the newest first"),
        pytest.param("\n".join(line for number, line in enumerate(ramp(60).splitlines()) if not 40 < number < 90), 2000, 2, id="a gap"),
        pytest.param("\n".join(line for line in ramp(12).splitlines() if line != "45,a,0.2250,225.0"), 2000, 2, id="a row that is missing"),
        pytest.param(ramp(12, line="{t},{w},0.5,500"), 2000, 2, id="one level of load"),
    ],
)
def test_a_strange_file_has_a_correct_answer(tmp_path: Path, text: str, capacity: float, workers: int) -> None:
    path = written(tmp_path / "workers.csv", text)
    fitted = found("fit", "capacity", path)
    assert len(fitted["workers"]) == workers
    assert fitted["capacity"] == pytest.approx(capacity, rel=0.03)
    assert fitted["low"] <= fitted["capacity"] <= fitted["high"]


@pytest.mark.parametrize("method", ["utilization_law", "daedalus"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ramp(1), "1 of 1 moments can be used: fewer than 3 readings of all executors at work"),
        (ramp(12, line="{t},{w},{u:.3f},0"), "12 of 12 moments can be used: no executor processed anything in them"),
        (ramp(12, line="{t},{w},0,{z:.1f}"), "fewer than 3 readings of all executors at work"),
        (ramp(12, line="{t},{w},{u:.3f},-5"), 'row 1 after the header: throughput is "-5", a number of at least 0 is needed'),
        (ramp(12, line="{t},{w},-{u:.3f},5"), "a number from 0 to 1.2 is needed"),
        (ramp(12, line="{t},{w},busy,5"), 'utilization is "busy", a number from 0 to 1.2 is needed'),
        (ramp(12, line="{t},,{u:.3f},5"), "worker is nothing, a name is needed"),
        (ramp(12, line="now,{w},{u:.3f},5"), 't_s is "now", a number is needed'),
        (ramp(12).replace(",0.", ","), "a number from 0 to 1.2 is needed"),
        (ramp(12, line="{t},{w},,5"), "no row of the executor a has both utilization and throughput"),
    ],
)
def test_a_file_without_an_answer_is_one_line(tmp_path: Path, text: str, said: str, method: str) -> None:
    path = written(tmp_path / "workers.csv", text)
    assert said in mistake("fit", "capacity", path, "--method", method)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--at", 80), "--at: found 80, a utilisation from 0.01 to 1 is allowed"),
        (("--at", 0), "--at: found 0, a utilisation"),
        (("--at", "nan"), "--at: found nan, a number is needed"),
        (("--max-utilization", 50), "--max-utilization: found 50, a utilisation from 0.01 to 1.2 is allowed"),
        (("--max-utilization", 0.05), "0 of 12 moments can be used"),
        (("--max-utilization", 0.05), "--max-utilization 0.05 leaves out 12, the quietest moment has its busiest executor at 0.1"),
        (("--method", "guess"), "--method: found guess, utilization_law or daedalus is allowed"),
    ],
)
def test_an_option_that_makes_no_sense_is_one_line(tmp_path: Path, arguments: tuple[str, object], said: str) -> None:
    path = written(tmp_path / "workers.csv", ramp(12))
    assert said in mistake("fit", "capacity", path, *arguments)


def test_the_first_minutes_of_workers_that_were_warming_up_are_left_out_and_a_note_says_so(tmp_path: Path) -> None:
    path, chance = tmp_path / "workers.csv", random.Random(6)
    workers = skewed(chance, 8, utilization_noise=0.01, warm_after_s=100.0)
    write(path, workers.ramp(chance, rising(0.15, 0.95, 120)))
    half = found("fit", "capacity", path, "--max-utilization", 0.5)
    assert half["capacity"] == pytest.approx(workers.capacity, rel=0.05)
    assert half["notes"] == ["left out 0 s to 120 s: the executors were still warming up, busier for their load than later"]
    assert "note left out 0 s to 120 s" in table("fit", "capacity", path, "--max-utilization", 0.5)


@pytest.mark.parametrize("moments", [1, 4, 5])
def test_a_file_that_ends_just_after_a_rescale_is_answered_for_the_workers_at_the_end_and_a_note_says_how(tmp_path: Path, moments: int) -> None:
    path = tmp_path / "workers.csv"
    later = [f"{15 * (40 + moment)},{worker},0.7,300" for moment in range(moments) for worker in "abcdefghi"]
    path.write_text(ramp(40, "abcdef") + "\n" + "\n".join(later))
    fitted = found("fit", "capacity", path)
    assert fitted["capacity"] == pytest.approx(9000, rel=0.01) and fitted["workers"] == []
    assert fitted["notes"] == ["too few readings of the 9 executors at the end can be used: this is the capacity of the 6 before them, times 9/6"]
    assert "capacity of 9 executors" in table("fit", "capacity", path)
    assert "capacity at 100%: 9,000" in drawn(tmp_path, "fit", "capacity", path)


def test_a_series_that_ends_some_seconds_early_and_cells_that_are_empty_change_no_capacity(tmp_path: Path) -> None:
    path = tmp_path / "workers.csv"
    each = [(second, worker, 0.1 + 0.001 * second) for second in range(400) for worker in "abcd" if worker != "c" or second < 393]
    path.write_text(HEADER + "\n".join(f"{t},{w},{'' if (t, w) == (50, 'a') else f'{u:.4f}'},{1000 * u:.1f}" for t, w, u in each))
    fitted = found("fit", "capacity", path)
    assert fitted["capacity"] == pytest.approx(4000, rel=0.01) and len(fitted["workers"]) == 4
    assert fitted["notes"] == ["left out 1 row without utilization or throughput, and the moment it is of"]


def test_workers_that_were_read_for_long_enough_need_no_note(tmp_path: Path) -> None:
    path = written(tmp_path / "workers.csv", ramp(12))
    assert found("fit", "capacity", path)["notes"] == []


@pytest.mark.long
def test_a_million_rows_are_answered(tmp_path: Path) -> None:
    path, chance = tmp_path / "workers.csv", random.Random(1)
    loads = [(moment, 0.3 + 0.2 * math.sin(moment / 100)) for moment in range(1000)]
    thousand = "".join(
        f"#{moment:03d},{worker},{load + chance.gauss(0, 0.02):.4f},{1000 * load * chance.gauss(1, 0.03):.1f}\n"
        for moment, load in loads
        for worker in range(10)
    )
    path.write_text(HEADER + "".join(thousand.replace("#", str(block)) for block in range(100)))
    assert found("fit", "capacity", path, "--max-utilization", 0.4)["capacity"] == pytest.approx(10_000, rel=0.05)
