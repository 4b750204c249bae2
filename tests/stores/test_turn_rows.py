from dataclasses import replace
from pathlib import Path
from typing import Any

from changes import changing, scaling
from histories import KNOWLEDGE, knowledge_in, opened, turns_in

from penstock.core.domain.autopilot import Autopilot, Floor
from penstock.core.domain.command import Approve, Pause, Release, SetKnob
from penstock.core.domain.configuration import Configuration, QueryConfiguration
from penstock.core.domain.events.run_events import NothingToDo
from penstock.core.domain.hours import Hours
from penstock.core.domain.instruction import Outcome
from penstock.core.domain.profile import ProfileSeen
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.fitting import FitAsked, FitDone
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge, Pending
from penstock.core.knowledge.terms import Terms
from penstock.core.loop import Keyframe, Recorded, Turn
from penstock.core.models.forecast.refit import Fit
from penstock.runtime.fakes import blank_reading
from penstock.stores.history import History
from penstock.stores.reader import HistoryReader
from penstock.stores.snapshot import restore_snapshot, take_snapshot
from penstock.stores.turn_rows import mark, said

TERMS = Terms()


class Turns:
    """Turns that follow from each other, written one by one."""

    def __init__(self, history: History, knowledge: Knowledge = KNOWLEDGE, terms: Terms = TERMS) -> None:
        self.history, self.knowledge, self.terms, self.at_s = history, knowledge, terms, 0.0

    def take(self, *, reading: bool = True, wait_s: float = 5.0, read_after_s: float = 0.0, fit: FitAsked | None = None, **came: Any) -> None:
        self.at_s += wait_s
        inputs = Inputs(at_s=self.at_s, reading=blank_reading(self.at_s + read_after_s) if reading else None, **came)
        known = replace(self.knowledge, last=inputs.reading or self.knowledge.last)
        done = Turn(knowledge=known, instructions=(), events=(NothingToDo(at_s=self.at_s),), fit=fit)
        recorded = Recorded(before=Keyframe(knowledge=self.knowledge, terms=self.terms), inputs=inputs, done=done)
        self.history.append(self.at_s, reading=inputs.reading, events=done.events, knowledge=known, recorded=recorded)
        self.knowledge = known


def keyframes_in(path: Path) -> list[float]:
    return [row.at_s for row in turns_in(path) if row.keyframe]


def test_the_reading_of_a_turn_is_the_one_that_was_read_in_it(history: History, path: Path) -> None:
    """It takes a moment to read, so it is younger than the turn."""
    turns = Turns(history)
    turns.take(read_after_s=0.3)
    turns.take(reading=False)
    with HistoryReader.open(path) as reader:
        assert reader.reading_of_turn(5.0) == blank_reading(5.3)
        assert reader.reading_of_turn(10.0) is None and reader.reading_of_turn(7.0) is None


def test_what_came_in_comes_back_as_it_was(history: History, path: Path) -> None:
    commands = (
        SetKnob(at_s=1.0, who="ann", knob="executors", value="3"), SetKnob(at_s=1.0, who="ann", hold_s=0.1, knob="trigger", value="2s", query="q"),
        Approve(at_s=1.0, who="bob", proposal=4), Pause(at_s=1.0, who="bob", reason="release day"), Release(at_s=1.0, who="ann"),
    )  # fmt: skip
    outcomes = (Outcome(number=1, done=True, took_s=0.1 + 0.2, down_s=float("inf")),)
    fits = (
        FitDone(number=3, took_s=1.5, fits={"ets": Fit(parameters={"alpha": 1 / 3}, at=9, values=8, promised=None)}),
        FitDone(number=4, took_s=0.0, error="x"),
    )
    turns = Turns(history)
    turns.take(commands=commands, outcomes=outcomes, fits=fits)
    turns.take(reading=False)
    first, second = turns_in(path)
    assert first.inputs == Inputs(at_s=5.0, reading=blank_reading(5.0), commands=commands, outcomes=outcomes, fits=fits)
    assert second.inputs == Inputs(at_s=10.0)
    assert history._connection.execute("SELECT json FROM turns WHERE id = 2").fetchone() == ("{}",), "a turn in which nothing came is small"


def test_the_marks_are_those_of_what_was_said_and_of_the_fit_that_was_asked_for(history: History, path: Path) -> None:
    Turns(history).take(fit=FitAsked(number=7))
    lines = ['NothingToDo {"at_s":5.0,"reason":"as desired"}', "FitAsked 7"]
    assert turns_in(path)[0].marks == tuple(mark(line) for line in lines)
    done = Turn(knowledge=KNOWLEDGE, instructions=(scaling(1, 1, 2),), events=())
    assert list(said(done)) == ['Instruction {"number":1,"decision":null,"change":{"moves":[{"knob":"executors","query":"","before":1,"after":2}]}}']
    assert mark("a") != mark("b") and len(mark("a")) == 32


def test_a_keyframe_has_all_that_was_known_and_the_terms(history: History, path: Path) -> None:
    change = changing(2, "q", trigger=(Trigger(), Trigger(interval_s=1.0)), rate_limit=(None, 1e-9))
    pending = (Pending(instruction=scaling(1, 2, 3), since_s=1.5), Pending(instruction=change, since_s=2.5))
    autopilot = Autopilot(
        mode="ask", policy="daedalus", parameters={"grace_s": 10.0}, hours=(Hours(days=(0, 1), from_s=1.0, until_s=2.0),),
        calendar=(Floor(name="sale", min_executors=3, from_s=1.0, until_s=2.0),),
    )  # fmt: skip
    terms = Terms(autopilot=autopilot, profile=(ProfileSeen(executors=2, rate_rows_per_s=10.0, latency_s=0.5, valid=True),))
    knowledge = replace(KNOWLEDGE, pending=pending, last=blank_reading(1.0))
    Turns(history, knowledge, terms).take(reading=False)
    assert turns_in(path)[0].keyframe == Keyframe(knowledge=knowledge, terms=terms)


def test_a_keyframe_is_no_bigger_than_needed(history: History, path: Path) -> None:
    Turns(history, replace(KNOWLEDGE, last=blank_reading(1.0))).take()
    (row,) = turns_in(path)
    assert row.keyframe is not None and row.keyframe.knowledge.last is None, "the turn has a reading of its own, which takes its place"


def test_keyframes_are_kept_at_the_start_and_once_in_a_while(history: History, path: Path) -> None:
    turns = Turns(history)
    for _ in range(400):
        turns.take()
    assert keyframes_in(path) == [5.0, 905.0, 1805.0]


def test_a_keyframe_is_kept_wherever_a_turn_does_not_follow_from_the_one_before(history: History, path: Path) -> None:
    turns = Turns(history)
    turns.take()
    turns.take()
    turns.knowledge = replace(turns.knowledge, next_number=9)
    turns.take()
    turns.take()
    turns.terms = Terms(autopilot=Autopilot(mode="shadow"))
    turns.take()
    turns.take()
    assert keyframes_in(path) == [5.0, 15.0, 25.0]


def test_after_turns_that_the_disk_refused_a_replay_can_start_again(history: History, path: Path) -> None:
    turns = Turns(history)
    turns.take()
    history._connection.execute("PRAGMA query_only = ON")
    turns.take()
    turns.take()
    history._connection.execute("PRAGMA query_only = OFF")
    turns.take()
    turns.take()
    assert [row.at_s for row in turns_in(path)] == [5.0, 20.0, 25.0]
    assert keyframes_in(path) == [5.0, 20.0]


def test_another_run_begins_with_a_keyframe(path: Path) -> None:
    for _ in range(2):
        with opened(path) as history:
            turns = Turns(history)
            turns.take()
            turns.take()
    assert [row.number for row in turns_in(path) if row.keyframe] == [1, 3]


def test_turns_and_keyframes_are_dropped_with_the_readings_of_their_time(path: Path) -> None:
    with opened(path, history_days=0.01) as history:
        turns = Turns(history)
        for _ in range(60):
            turns.take(wait_s=60.0)
    rows = turns_in(path)
    assert 3600.0 - 864.0 - 21 * 60.0 < rows[0].at_s < 3600.0 - 800.0, "it is cleaned every twenty turns"
    assert all(row.inputs is not None and row.inputs.reading == blank_reading(row.at_s) for row in rows)
    assert min(keyframes_in(path)) >= rows[0].at_s


def test_a_turn_whose_reading_is_gone_has_no_inputs(history: History, path: Path) -> None:
    turns = Turns(history)
    turns.take()
    turns.take()
    history._connection.execute("DELETE FROM readings WHERE at_s = 5.0")
    assert [row.inputs is None for row in turns_in(path)] == [True, False]


def test_more_turns_than_are_read_at_once_come_complete_and_in_order(history: History, path: Path) -> None:
    turns = Turns(history)
    for _ in range(230):
        turns.take()
    assert [row.number for row in turns_in(path)] == list(range(1, 231))
    with HistoryReader.open(path) as reader:
        assert reader.count_turns() == 230


def test_a_snapshot_carries_turns_keyframes_and_what_was_learnt(history: History, path: Path, tmp_path: Path) -> None:
    turns = Turns(history, replace(KNOWLEDGE, learnt=replace(KNOWLEDGE.learnt, failures=4)))
    turns.take()
    turns.take()
    take_snapshot(path, tmp_path / "snapshot.db")
    elsewhere = tmp_path / "elsewhere" / "history.db"
    assert restore_snapshot(tmp_path / "snapshot.db", elsewhere)
    assert turns_in(elsewhere) == turns_in(path) and len(turns_in(path)) == 2
    with opened(elsewhere) as restored:
        assert restored.load() == turns.knowledge


def test_no_secret_is_in_a_turn_or_a_keyframe(path: Path) -> None:
    secret = "tops3cret"
    knowledge = replace(KNOWLEDGE, desired=Configuration(executors=1, queries={secret: QueryConfiguration()}))
    with opened(path, secret) as history:
        turns = Turns(history, knowledge, Terms(autopilot=Autopilot(calendar=(Floor(name=secret, min_executors=2),))))
        turns.take(commands=(Pause(at_s=1.0, who=secret, reason=f"said {secret}"),))
        history._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert secret.encode() not in b"".join(each.read_bytes() for each in path.parent.iterdir())
    (row,) = turns_in(path)
    assert row.inputs is not None and row.inputs.commands == (Pause(at_s=1.0, who="***", reason="said ***"),)


def knowing(number: int) -> Knowledge:
    """Knowledge of a turn: what was learnt and what is only known have the same number."""
    plain = Knowledge(declared=Configuration(executors=1), desired=Configuration(executors=1), next_number=number, last=blank_reading(5.0 * number))
    return replace(plain, learnt=replace(plain.learnt, failures=number))


def append(history: History, number: int, *, rescaled: bool = False) -> None:
    knowledge = knowing(number)
    instructions = [(scaling(1, 1, 2), 5.0 * number)] if rescaled else []
    history.append(5.0 * number, reading=knowledge.last, knowledge=knowledge, instructions=instructions)


def in_file(path: Path) -> tuple[int, int, float]:
    """Number of what is known, number of what was learnt, time of the last reading."""
    knowledge = knowledge_in(path)
    assert knowledge is not None and knowledge.last is not None
    return knowledge.next_number, knowledge.learnt.failures, knowledge.last.at_s


def test_what_was_learnt_is_written_once_in_a_while_and_the_rest_every_turn(history: History, path: Path) -> None:
    seen = []
    for number in range(1, 27):
        append(history, number)
        seen.append(in_file(path))
    assert [known for known, _, _ in seen] == list(range(1, 27))
    assert sorted({learnt for _, learnt, _ in seen}) == [1, 13, 25], "every sixty seconds"
    assert [last_s for _, _, last_s in seen] == [5.0 * number for number in range(1, 27)]


def test_a_rescale_writes_what_was_learnt_at_once(history: History, path: Path) -> None:
    append(history, 1)
    append(history, 2, rescaled=True)
    assert in_file(path)[:2] == (2, 2)


def test_saving_and_closing_write_what_was_learnt(history: History, path: Path) -> None:
    append(history, 1)
    append(history, 2)
    assert in_file(path)[:2] == (2, 1)
    history.save(knowing(3))
    assert in_file(path)[:2] == (3, 3)
    append(history, 4)
    append(history, 5)
    history.close()
    assert in_file(path)[:2] == (5, 5)


def test_what_did_not_change_is_not_written_again(history: History) -> None:
    def written() -> int:
        return int(history._connection.execute("SELECT total_changes()").fetchone()[0])

    def cost(knowledge: Knowledge, at_s: float) -> int:
        before = written()
        history.append(at_s, knowledge=knowledge)
        return written() - before

    knowledge = knowing(1)
    assert [cost(knowledge, at_s) for at_s in (0.0, 100.0, 200.0)] == [2, 1, 1]


def test_the_last_reading_is_in_the_file_once(history: History, path: Path) -> None:
    append(history, 1)
    assert history._connection.execute("SELECT json_extract(json, '$.last'), reading_id FROM knowledge").fetchone() == (None, 1)
    history.save(knowing(9))
    assert in_file(path) == (9, 9, 45.0), "one that has no row of its own is written with what is known"


def test_knowledge_that_the_disk_refused_is_written_whole_with_the_next_turn(history: History, path: Path) -> None:
    append(history, 1)
    history._connection.execute("PRAGMA query_only = ON")
    append(history, 30)
    history._connection.execute("PRAGMA query_only = OFF")
    history.append(160.0, reading=blank_reading(160.0))
    assert in_file(path) == (30, 30, 150.0)
