import random
from pathlib import Path
from typing import Any

import pytest

from penstock.core.errors import UserMistake
from penstock.core.models.capacity.executor_use import ExecutorUses
from penstock.tables.executor_table import LONGEST_LACK, ExecutorTable, read_executors

Row = tuple[float, str, object, object]


def rows(moments: range, uses: str, begin_s: float = 0.0) -> list[Row]:
    return [(begin_s + 15.0 * moment, use, round(0.001 * moment + 0.1, 4), 100.0 + moment) for moment in moments for use in uses]


def table(folder: Path, given: list[Row], header: str = "t_s,worker,utilization,throughput", **options: Any) -> ExecutorTable:
    path = folder / "workers.csv"
    path.write_text(f"{header}\n" + "\n".join(",".join(map(str, row)) for row in given))
    return read_executors(path, **options)


def readings(folder: Path, given: list[Row]) -> list[ExecutorUses]:
    return list(table(folder, given).readings)


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    given = rows(range(20), "abc")
    found = readings(tmp_path, random.Random(1).sample(given, len(given)))
    assert found == readings(tmp_path, given)
    assert [each.at_s for each in found] == [15.0 * moment for moment in range(20)]
    assert [use.executor for use in found[0].uses] == ["a", "b", "c"] and found[0].since_change_s is None


@pytest.mark.parametrize("lacking", [1, LONGEST_LACK])
@pytest.mark.parametrize("begin", [0, 7])
def test_moments_that_lack_an_executor_are_left_out_and_are_no_rescale(tmp_path: Path, lacking: int, begin: int) -> None:
    lost = {15.0 * moment for moment in range(begin, begin + lacking)}
    found = readings(tmp_path, [row for row in rows(range(30), "abc") if row[1] != "b" or row[0] not in lost])
    assert len(found) == 30 - lacking and {each.executors for each in found} == {3} and {each.since_change_s for each in found} == {None}


def test_readings_missing_here_and_there_leave_the_moments_that_are_whole(tmp_path: Path) -> None:
    chance = random.Random(2)
    given = [row for row in rows(range(300), "abcdefghijkl") if chance.random() > 0.1]
    whole = [moment for moment in range(300) if sum(row[0] == 15.0 * moment for row in given) == 12]
    found = readings(tmp_path, given)
    assert [each.at_s for each in found] == [15.0 * moment for moment in whole] and len(whole) > 50
    assert {each.since_change_s for each in found} == {None}


def test_an_executor_that_stays_away_is_a_rescale_and_a_hole_of_some_seconds_is_none(tmp_path: Path) -> None:
    found = readings(tmp_path, [*rows(range(20), "abc"), *rows(range(20, 40), "ab")])
    assert [each.executors for each in found] == [3] * 20 + [2] * 20
    assert [each.since_change_s for each in found[18:23]] == [None, None, 0.0, 15.0, 30.0]
    given = every_second(range(600), "abc")
    hole, away = (readings(tmp_path, [row for row in given if row[1] != "b" or not 300 <= row[0] < end]) for end in (306, 500))
    assert len(hole) == 594 and {(each.executors, each.since_change_s) for each in hole} == {(3, None)}
    assert [each.executors for each in away] == [3] * 300 + [2] * 200 + [3] * 100 and away[500].since_change_s == 0.0


def test_executors_of_the_last_moments_are_there_unless_all_others_replaced_them(tmp_path: Path) -> None:
    for last, executors in (("abcd", 4), ("defghi", 6)):
        found = readings(tmp_path, [*rows(range(20), "abc"), *rows(range(20, 22), last)])
        assert [(each.executors, each.since_change_s) for each in found[19:]] == [(3, None), (executors, 0.0), (executors, 15.0)]
    assert {each.executors for each in readings(tmp_path, [*rows(range(20), "abc"), *rows(range(20, 22), "ab")])} == {3}, "one that is missing was not read"


@pytest.mark.parametrize(
    "later", [rows(range(20, 40), "def"), rows(range(500, 510), "abc")], ids=["as many of other names", "the same after a gap of the file"]
)
def test_as_many_executors_may_be_others(tmp_path: Path, later: list[Row]) -> None:
    found = readings(tmp_path, [*rows(range(20), "abc"), *later])
    assert {each.executors for each in found} == {3} and [each.since_change_s for each in found[18:23]] == [None, None, 0.0, 15.0, 30.0]


@pytest.mark.parametrize(
    "moments",
    [
        [*range(20), *range(25, 45)],
        [40 * moment for moment in range(20)],
        [40 * moment for moment in range(20) if moment not in (7, 8, 9)],
        [100 * burst + moment for burst in range(8) for moment in range(6)],
    ],
    ids=["a hole of some moments", "read every ten minutes", "and some of them lost", "read in short bursts"],
)
def test_a_short_gap_and_a_file_that_is_read_rarely_are_no_restart(tmp_path: Path, moments: list[int]) -> None:
    found = readings(tmp_path, [row for moment in moments for row in rows(range(moment, moment + 1), "abc")])
    assert len(found) == len(moments) and {each.since_change_s for each in found} == {None}


def every_second(seconds: range, uses: str) -> list[Row]:
    return [(float(second), use, 0.3, 100.0) for second in seconds for use in uses]


@pytest.mark.parametrize("lacking_s", [7, 60, 90])
def test_series_that_end_or_begin_some_seconds_apart_are_of_executors_that_are_there(tmp_path: Path, lacking_s: int) -> None:
    given = every_second(range(600), "abc")
    early = readings(tmp_path, [row for row in given if row[1] != "b" or row[0] < 600 - lacking_s])
    late = readings(tmp_path, [row for row in given if row[1] != "b" or row[0] >= lacking_s])
    for found in (early, late):
        assert len(found) == 600 - lacking_s and {(each.executors, each.since_change_s) for each in found} == {(3, None)}


def test_executors_that_came_shortly_before_a_ragged_end_are_there(tmp_path: Path) -> None:
    given = [*every_second(range(300), "abc"), *every_second(range(300, 360), "abcd")]
    found = readings(tmp_path, [row for row in given if row[1] != "b" or row[0] < 355])
    assert (found[-1].at_s, found[-1].executors, found[-1].since_change_s) == (354.0, 4, 54.0)


def test_rows_without_a_number_are_readings_not_made_and_an_executor_of_which_nothing_was_read_is_named(tmp_path: Path) -> None:
    given = [(t, w, "" if w == "b" and 5 <= t / 15 < 15 else u, z if (t, w) != (0.0, "a") else "") for t, w, u, z in rows(range(20), "abc")]
    found = table(tmp_path, given)
    assert found.lacking == 11 and len(found.readings) == 9 and {(each.executors, each.since_change_s) for each in found.readings} == {(3, None)}
    given: list[Row] = [(t, w, u, "" if w == "b" else z) for t, w, u, z in rows(range(9), "abc")]
    with pytest.raises(UserMistake, match="no row of the executor b has both utilization and throughput"):
        readings(tmp_path, given)


def test_executors_read_at_moments_of_their_own_are_joined(tmp_path: Path) -> None:
    found = readings(tmp_path, [(at_s + 2.0 * "abc".index(use), use, u, z) for at_s, use, u, z in rows(range(20), "abc")])
    assert len(found) >= 19 and {each.executors for each in found} == {3}


def test_one_row_is_one_moment_and_the_mean_of_two_counts(tmp_path: Path) -> None:
    (moment,) = table(tmp_path, [(0.0, "a", 0.5, 10.0)], "t_s,worker,cpu,throughput", columns={"utilization": "cpu"}).readings
    assert moment.uses[0].utilization == 0.5
    found = readings(tmp_path, [(0.0, "a", 0.2, 10.0), (0.0, "a", 0.4, 30.0), (15.0, "a", 0.5, 50.0)])
    assert [(each.uses[0].utilization, each.uses[0].throughput_rows_per_s) for each in found] == [(pytest.approx(0.3), 20.0), (0.5, 50.0)]
