from pathlib import Path
from typing import Any

import pytest

from penstock.cli.demo import SCALING, prepare
from penstock.cli.demo_operator import CLOSING_S, TOTAL_S, Ended, Operator, begin_load, commands, fit
from penstock.core.domain.job_spec import JobSpec
from penstock.core.domain.reading import BatchParts, BatchReading, QueryReading, Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.models.capacity.batch_cost import BatchMeasured
from penstock.runtime.fakes import blank_reading

OVERHEAD_S, ROW_S = 0.5, 0.001


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JobSpec:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "state"))
    return prepare(tmp_path / "demo", SCALING)


class AtDesk(Operator):
    """An operator of a job that starts within some seconds and whose batches cost `slower` times the usual; one ends each time that it is looked at."""

    def __init__(self, spec: JobSpec, script: Any, slower: float = 1.0, starts_s: float = 0.0) -> None:
        super().__init__(spec, script)
        self.asked: list[tuple[str, Any]] = []
        self.waited_s = 0.0
        self._slower, self._starts_s = slower, starts_s
        self._rate, self._batches = 0.0, list[BatchReading]()

    def ask(self, verb: str, **arguments: Any) -> None:
        self.asked.append((verb, arguments.get("value")))
        if verb == "rate" and not arguments["value"].startswith("restart"):
            self._rate = float(arguments["value"])

    def wait(self, seconds: float) -> None:
        self.waited_s += seconds

    def spent_s(self) -> float:
        return self.waited_s

    def until_lives(self) -> None:
        self.waited_s += self._starts_s

    def _reading(self) -> Reading:
        rows = 2.0 * self._rate if self._rate != 200.0 or not 5 <= len(self._batches) <= 8 else 2500.0
        took_s = self._slower * (OVERHEAD_S + ROW_S * rows)
        self._batches.append(BatchReading(number=len(self._batches) + 1, rows=rows, took_s=took_s, since_s=0.0))
        batch = BatchParts(total_s=1.0, rows=rows, each=tuple(self._batches[-3:]))
        query = QueryReading(name="q", state="running", trigger=Trigger(interval_s=2.0), batch_id=len(self._batches), batch=batch, throughput_rows_per_s=1.0)
        uptime_s = 10.0 * len(self._batches)
        return blank_reading(uptime_s, uptime_s=uptime_s, executors_running=1, excess_lag_rows=0.0, queries=(query,))


def test_the_load_begins_when_the_job_is_warm_and_the_policy_decides_from_then_on(spec: JobSpec) -> None:
    operator = AtDesk(spec, lambda each: begin_load(each, 185.0))
    operator.run()
    assert operator.asked == [("pause", None), ("rate", "200"), ("rate", "1200"), ("rate", "200"), ("rate", "restart:1"), ("resume", None)]
    assert operator.over.is_set() and operator.waited_s > 185.0 and "as declared" in operator.said[0]


def test_a_machine_that_is_too_slow_for_the_load_gets_less_of_it(spec: JobSpec) -> None:
    operator = AtDesk(spec, lambda each: begin_load(each, 185.0), slower=4.0)
    operator.run()
    times = float(operator.asked[-2][1].removeprefix("restart:"))
    assert 0.2 < times < 0.9 and f"{times:g} times the declared one" in operator.said[0]


def test_the_load_begins_in_time_and_as_declared_where_the_start_leaves_no_time_to_warm_up(spec: JobSpec) -> None:
    for starts_s, asked in ((5.0, 6), (73.0, 6), (75.0, 4), (79.0, 4)):
        operator = AtDesk(spec, lambda each: begin_load(each, 185.0), starts_s=starts_s)
        operator.run()
        assert len(operator.asked) == asked and operator.waited_s <= TOTAL_S - CLOSING_S + 0.5
        assert operator.asked[-2:] == [("rate", "restart:1"), ("resume", None)] and operator.over.is_set()
        assert ("too short" in operator.said[0]) == (starts_s > 5.0)


def test_a_load_is_as_declared_where_the_machine_could_not_be_measured(spec: JobSpec) -> None:
    fitted = fit(spec, [BatchMeasured(rows=400.0, duration_s=1.0, executors=1)], 1100.0)
    assert fitted.times == 1.0 and "too short" in fitted.words()


def test_the_peak_takes_no_more_than_what_all_executors_carry_with_some_to_spare(spec: JobSpec) -> None:
    batches = [BatchMeasured(rows=rows, duration_s=1.0 + 0.004 * rows, executors=1) for rows in (400.0, 400.0, 1600.0, 3000.0, 800.0, 400.0)]
    fitted = fit(spec, batches, 1100.0)
    assert fitted.capacity_rows_per_s == pytest.approx(1000 * (1 - 1 / (8 / 1.95)), rel=0.01), "four times what one carries, within the promise"
    assert fitted.times == pytest.approx(0.8 * 756 / 1100, abs=0.01)


def test_commands_are_given_at_their_times_and_the_demonstration_ends_after_them(spec: JobSpec) -> None:
    script = commands((20.0, "trigger", {"value": "2s"}), (40.0, "scale", {"value": "1"}))
    operator = AtDesk(spec, lambda each: script(each, 60.0))
    operator.run()
    assert operator.asked == [("trigger", "2s"), ("scale", "1")] and operator.over.is_set()


def test_an_operator_that_is_stopped_says_nothing_more(spec: JobSpec) -> None:
    def script(operator: Operator) -> None:
        operator.wait(60.0)
        raise AssertionError("unreachable")

    operator = Operator(spec, script)
    operator._stopping.set()
    operator.run()
    assert not operator.over.is_set() and not operator.mishaps
    with pytest.raises(Ended):
        operator.wait(1.0)
