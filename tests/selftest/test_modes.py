from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from penstock.core.monitor.facts import OutputSample
from penstock.selftest import modes
from penstock.selftest.modes import ModesResult, Turn, measure_modes, result_of


def turn(*latencies_s: float, pauses_s: tuple[float, ...] = (), cpu_cores: tuple[float, ...] = ()) -> Turn:
    samples = tuple(OutputSample(wall_s=0.0, latency_s=latency_s, rows=1.0) for latency_s in latencies_s)
    return Turn(samples=samples, pauses_s=pauses_s, cpu_cores=cpu_cores)


def test_a_mode_is_all_its_turns_together() -> None:
    turns = [turn(0.1, 0.2, pauses_s=(0.4, 0.8), cpu_cores=(0.2, 0.4)), turn(0.3, 0.9, pauses_s=(0.6,), cpu_cores=(0.6,))]
    found = result_of("real-time", turns, 3.0)
    assert (found.latency_p50_s, found.latency_p95_s, found.latency_p99_s) == (0.2, 0.9, 0.9)
    assert (found.boundary_pause_s, found.cpu_cores, found.recovery_s, found.trigger) == (0.6, pytest.approx(0.4), 3.0, "realtime:10s")


def test_what_was_not_seen_is_said_to_be_so() -> None:
    rows = dict(ModesResult(rate_rows_per_s=1000.0, turns=1, modes=(result_of("micro-batch", [turn(1.5)], None),)).rows())
    assert rows["rate"] == "1,000 rows/s, 1 turns of each mode"
    assert rows["  latency at the sink"] == "p50 1,500 ms, p95 1,500 ms, p99 1,500 ms"
    assert (rows["  pause at the boundary"], rows["  back to normal after SIGKILL"], rows["  CPU of the executors"]) == ("not seen", "not seen", "unknown")


def test_nothing_is_killed_before_the_last_turn_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    @contextmanager
    def running(rate_rows_per_s: float) -> Iterator[tuple[Any, Any]]:
        yield None, None

    def one_turn(job: Any, tail: Any, trigger: Any, seconds: float) -> Turn:
        done.append(f"turn {trigger}")
        return turn(0.1)

    def recover(job: Any, tail: Any, normal_s: float) -> float:
        done.append(f"kill, normal is {normal_s} s")
        return 1.0

    monkeypatch.setattr(modes, "running", running)
    monkeypatch.setattr(modes, "one_turn", one_turn)
    monkeypatch.setattr(modes, "recover", recover)
    monkeypatch.setattr(modes, "enter", lambda job, tail, trigger: done.append(f"enter {trigger}"))
    steps: list[tuple[int, int]] = []
    found = measure_modes(1000.0, 2, 30.0, lambda *step: steps.append(step))
    turns = ["turn 2s", "turn realtime:10s", "turn realtime:10s", "turn 2s"]
    assert done == [*turns, "enter 2s", "kill, normal is 0.1 s", "enter realtime:10s", "kill, normal is 0.1 s"]
    assert [each.mode for each in found.modes] == ["micro-batch", "real-time"] and steps == [(step, 6) for step in range(1, 7)]
