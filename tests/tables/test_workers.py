"""Rows of workers become moments at which all of them were read."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from penstock.core.models.capacity.readings import WorkersReading
from penstock.tables.workers import LONGEST_LACK, read_workers

Row = tuple[float, str, object, object]


def rows(moments: range, workers: str, begin_s: float = 0.0) -> list[Row]:
    return [(begin_s + 15.0 * moment, worker, round(0.001 * moment + 0.1, 4), 100.0 + moment) for moment in moments for worker in workers]


def readings(folder: Path, given: list[Row]) -> list[WorkersReading]:
    path = folder / "workers.csv"
    path.write_text("t_s,worker,utilization,throughput\n" + "\n".join(",".join(map(str, row)) for row in given))
    return read_workers(path)


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    given = rows(range(20), "abc")
    shuffled = random.Random(1).sample(given, len(given))
    found = readings(tmp_path, shuffled)
    assert found == readings(tmp_path, given)
    assert [each.at_s for each in found] == [15.0 * moment for moment in range(20)]
    assert [worker.worker for worker in found[0].workers] == ["a", "b", "c"] and found[0].since_change_s is None


def test_of_two_readings_of_a_worker_at_a_moment_the_mean_counts(tmp_path: Path) -> None:
    found = readings(tmp_path, [(0.0, "a", 0.2, 10.0), (0.0, "a", 0.4, 30.0), (15.0, "a", 0.5, 50.0)])
    assert [(each.workers[0].utilization, each.workers[0].throughput_rows_per_s) for each in found] == [(pytest.approx(0.3), 20.0), (0.5, 50.0)]


@pytest.mark.parametrize("lacking", [1, LONGEST_LACK])
@pytest.mark.parametrize("begin", [0, 7])
def test_moments_that_lack_a_worker_are_left_out_and_are_no_rescale(tmp_path: Path, lacking: int, begin: int) -> None:
    lost = {15.0 * moment for moment in range(begin, begin + lacking)}
    found = readings(tmp_path, [row for row in rows(range(30), "abc") if row[1] != "b" or row[0] not in lost])
    assert len(found) == 30 - lacking and {each.scaleout for each in found} == {3} and {each.since_change_s for each in found} == {None}


def test_readings_missing_here_and_there_leave_the_moments_that_are_whole(tmp_path: Path) -> None:
    chance = random.Random(2)
    given = [row for row in rows(range(300), "abcdefghijkl") if chance.random() > 0.1]
    whole = [moment for moment in range(300) if sum(row[0] == 15.0 * moment for row in given) == 12]
    found = readings(tmp_path, given)
    assert [each.at_s for each in found] == [15.0 * moment for moment in whole] and len(whole) > 50
    assert {each.since_change_s for each in found} == {None}


def test_a_worker_that_stays_away_or_comes_is_a_rescale(tmp_path: Path) -> None:
    found = readings(tmp_path, [*rows(range(20), "abc"), *rows(range(20, 40), "ab")])
    assert [each.scaleout for each in found] == [3] * 20 + [2] * 20
    assert [each.since_change_s for each in found[18:23]] == [None, None, 0.0, 15.0, 30.0]


def test_workers_that_come_in_the_last_moments_are_there_and_one_that_is_missing_there_was_not_read(tmp_path: Path) -> None:
    found = readings(tmp_path, [*rows(range(20), "abc"), *rows(range(20, 22), "abcd")])
    assert [(each.scaleout, each.since_change_s) for each in found[19:]] == [(3, None), (4, 0.0), (4, 15.0)]
    assert {each.scaleout for each in readings(tmp_path, [*rows(range(20), "abc"), *rows(range(20, 22), "ab")])} == {3}


def test_workers_of_other_names_are_a_rescale_even_if_they_are_as_many(tmp_path: Path) -> None:
    found = readings(tmp_path, [*rows(range(20), "abc"), *rows(range(20, 40), "def")])
    assert {each.scaleout for each in found} == {3} and found[20].since_change_s == 0.0


def test_a_gap_of_the_whole_file_is_no_rescale(tmp_path: Path) -> None:
    found = readings(tmp_path, [*rows(range(10), "abc"), *rows(range(500, 510), "abc")])
    assert len(found) == 20 and {each.since_change_s for each in found} == {None}


def test_workers_read_at_moments_of_their_own_are_joined(tmp_path: Path) -> None:
    found = readings(tmp_path, [(at_s + 2.0 * "abc".index(worker), worker, u, z) for at_s, worker, u, z in rows(range(20), "abc")])
    assert len(found) >= 19 and {each.scaleout for each in found} == {3}


def test_one_row_is_one_moment_and_columns_may_have_other_names(tmp_path: Path) -> None:
    path = tmp_path / "workers.csv"
    path.write_text("t_s,worker,cpu,throughput\n0,a,0.5,10\n")
    assert [each.workers[0].utilization for each in read_workers(path, columns={"utilization": "cpu"})] == [0.5]
