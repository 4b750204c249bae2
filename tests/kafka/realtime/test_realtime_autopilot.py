import json
import math
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from cpu_share import CpuShare
from topic_reader import read_positions

from penstock.core.domain.events.autopilot_events import Decided, RolledBack
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.steering_events import InstructionGiven
from penstock.core.domain.instruction import Outcome
from penstock.core.domain.reading import Reading
from penstock.hindsight.verify import verify
from penstock.kafka.topics import end_offsets
from penstock.runtime.home import JobFolder
from penstock.stores.reader import HistoryReader

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(1500)]
NAME, QUERY, PARTITIONS, MOST_EXECUTORS = "pilot-realtime", "burnt", 6, 3
QUOTA_CORES, PROMISED_S = 0.4, 8.0
LOW_SHARE, TIMES = 0.55, 3.0
"""The low rate, as a share of what one executor carries, and how many times as much the high one is."""
WARMING = 150.0
"""A rate that warms an executor up, and the first at which it is tried how much it carries with its share of a core."""
BEHIND_S, MOST = 4.0, 2400.0
"""So far behind, and getting further, an executor carries all it can; no rate above the other is tried."""
WARM_S, EVERY_S = 25.0, 4.0
"""An executor of this age is warm; how often we look for such, and move the rate."""
RIPPLE, RIPPLE_S = 0.2, 45.0
"""No load stands still; what an executor carries is learnt from how its CPU moves with the load."""
JOB = f"""
name = "{NAME}"
master = "embedded"
limits = {{ min_executors = 1, max_executors = {MOST_EXECUTORS}, start_executors = 1 }}
promises = {{ latency_p95 = "{PROMISED_S:g}s", recovery = "2m" }}
settings = {{ reading_interval_s = 5, reading_window_s = 5, commit_wait_s = 40 }}
sources.numbers = {{ format = "kafka", subscribe = "numbers", startingOffsets = "earliest" }}
[kafka]
bootstrap = "embedded"
topics = {{ numbers = {PARTITIONS}, passed = 1 }}
feeds.numbers = {{ rate = "constant({WARMING:g})" }}
[queries.{QUERY}]
function = "job.py:burnt"
trigger = {{ real_time = "10s" }}
output_mode = "update"
sink = {{ format = "kafka", topic = "passed" }}
[autopilot]
mode = "observe"
policy = "daedalus"
time_scale = 0.1
downtime = "5s"
executor_cpu_cores = {QUOTA_CORES}
[spark]
"spark.executor.cores" = 8
"spark.sql.shuffle.partitions" = 2
"""
CODE = """
WORK = "aggregate(sequence(1, 8000), position, (a, x) -> pmod(a * 31 + x, 1000003)) >= 0"

def burnt(numbers):
    parsed = numbers.selectExpr("cast(key as string) key", "cast(value as string) value")
    parsed = parsed.selectExpr("*", "cast(get_json_object(value, '$.position') as long) position")
    return parsed.where(WORK).dropDuplicates(["position"]).select("key", "value")
"""


class Pilot:
    """The job, its executors held to their share as soon as they are warm, and what is asked of its history."""

    def __init__(self, job: Any, share: CpuShare) -> None:
        self.job, self.share = job, share
        self.holding, self.low = False, 0.0
        self._rate, self._next_s = WARMING, 0.0

    def wait_until(self, condition: Callable[[], object], timeout_s: float, what: str) -> None:
        def come() -> object:
            if time.time() >= self._next_s:
                self._next_s = time.time() + EVERY_S
                self._look_after()
            return condition()

        self.job.wait_until(come, timeout_s, what)

    def hold_warm(self) -> None:
        """Hold the executors that are warm to their share."""
        self.share.hold(each for each in self.job.executors() if time.time() - each.info["create_time"] >= WARM_S)

    def _look_after(self) -> None:
        """Hold what is warm, and keep the rate moving."""
        if self.holding:
            self.hold_warm()
            ripple = 1 + RIPPLE * math.sin(2 * math.pi * time.time() / RIPPLE_S)
            self.job.say("rate", source="numbers", value=f"{ripple * self._rate:f}")

    def pass_time(self, seconds: float) -> None:
        until_s = time.time() + seconds
        self.wait_until(lambda: time.time() >= until_s, seconds + 60, "some time")

    def take_over(self) -> None:
        """Let the policy act from now on, by a change of the job file: what is learnt begins with executors that are warm and held to their share."""
        file = self.job.folder / "job.toml"
        file.write_text(file.read_text().replace('mode = "observe"', 'mode = "active"'))
        self.wait_until(lambda: self.job.events("AutopilotChanged"), 60, "the change of the mode")

    def rate(self, rows_per_s: float) -> None:
        self._rate = rows_per_s
        self.job.say("rate", source="numbers", value=f"{rows_per_s:f}")

    @property
    def executors(self) -> int:
        return int(self.job.status()["reading"]["executors_running"])

    def keeps_its_promise(self) -> bool:
        """By the last reading: rows are late by what waits, too."""
        query = self.job.query(QUERY)
        latency = query.get("latency")
        return latency is not None and latency["p95_s"] <= PROMISED_S and (query["lag_s"] or 0.0) <= PROMISED_S

    def readings(self, last_s: float) -> list[Reading]:
        """Those of the last seconds."""
        with HistoryReader.open(JobFolder(NAME).history) as reader:
            return list(reader.readings(since_s=time.time() - last_s))

    def events(self) -> list[Event]:
        with HistoryReader.open(JobFolder(NAME).history) as reader:
            return [row.event for row in reader.events()]

    def rescales(self) -> list[Outcome]:
        """How the changes of the executors ended."""
        given = {event.number for event in self.events() if isinstance(event, InstructionGiven) and event.change.executors}
        with HistoryReader.open(JobFolder(NAME).history) as reader:
            return [outcome for outcome, _ in reader.outcomes() if outcome.number in given]


@pytest.fixture(scope="module")
def pilot(job_process: Callable[..., Any]) -> Iterator[Pilot]:
    share = CpuShare(QUOTA_CORES)
    try:
        with job_process(NAME, JOB, CODE) as job:
            job.wait_until(lambda: job.query(QUERY).get("batches", 0) >= 1 and job.query(QUERY)["latency"], 150, "the first commit and outputs")
            yield Pilot(job, share)
    finally:
        share.release()


@contextmanager
def one_executor(pilot: Pilot) -> Iterator[None]:
    """A fixed minimum: an operator holds one executor."""
    pilot.job.steer("scale", value="1")
    yield
    pilot.job.say("release")


def rows_of_one_executor(pilot: Pilot) -> float:
    """Rows per second that one executor carries with its share of a core: those it processes when more arrive than it can.

    It is then let go, to catch up. Where it cannot be held, what its rows take of the CPU has to tell.
    """
    pilot.pass_time(40)
    if pilot.share.why_not:
        seen = alone(pilot)
        return QUOTA_CORES * sum(each.throughput_rows_per_s or 0.0 for each in seen) / sum(each.executors[0].cpu_cores or 0.0 for each in seen)
    pilot.hold_warm()
    rate = WARMING
    while (carried := processed_at(pilot, rate)) is None:
        rate *= 2
        assert rate <= MOST, "one executor carries whatever comes: there is nothing to decide here"
    # Its code may still have been compiled at the first rate at which it fell behind.
    carried = max(carried, processed_at(pilot, 2 * rate) or 0.0)
    print(f"one executor processes {carried:.0f} of {2 * rate:.0f} rows/s with {QUOTA_CORES} cores")
    pilot.share.release()
    pilot.rate(0.0)
    pilot.wait_until(lambda: pilot.job.has_caught_up(QUERY), 180, "the query to catch up without a quota")
    return carried


def processed_at(pilot: Pilot, rows_per_s: float) -> float | None:
    """Rows per second that one executor processes at a rate at which it falls behind; None if it does not."""
    pilot.rate(rows_per_s)
    pilot.pass_time(40)
    seen = alone(pilot)
    lags_s = [reading.lag_s or 0.0 for reading in seen]
    behind = lags_s[-1] >= BEHIND_S and lags_s[-1] > lags_s[0]
    return sum(reading.throughput_rows_per_s or 0.0 for reading in seen) / len(seen) if behind else None


def alone(pilot: Pilot) -> list[Reading]:
    """The last readings of one executor at work."""
    seen = [reading for reading in pilot.readings(20) if reading.executors_running == 1 and reading.throughput_rows_per_s]
    assert len(seen) >= 3, seen
    return seen


def test_the_policy_follows_the_load_at_boundaries_where_a_fixed_minimum_would_fall_behind(pilot: Pilot) -> None:
    low = pilot.low = LOW_SHARE * rows_of_one_executor(pilot)
    high = TIMES * low
    pilot.holding = True
    pilot.rate(low)
    pilot.pass_time(30)
    pilot.take_over()
    pilot.pass_time(40)
    # A policy that has seen little yet may begin with more than the low rate needs: it is then in no hurry to give them back.
    pilot.wait_until(lambda: pilot.executors < MOST_EXECUTORS and pilot.keeps_its_promise(), 300, "a steady flow at the low rate on some of the executors")
    before = pilot.executors
    print(f"low {low:.0f} rows/s on {before} executors, high {high:.0f} rows/s; quota: {pilot.share.why_not or 'held'}")

    pilot.rate(high)
    pilot.wait_until(lambda: pilot.executors > before, 150, "more executors for the high rate")
    pilot.pass_time(30)
    pilot.wait_until(pilot.keeps_its_promise, 240, "the promise kept at the high rate")
    most = pilot.executors
    pilot.rate(low)
    pilot.wait_until(lambda: pilot.executors < most, 300, "fewer executors for the low rate")
    print(f"most {most} executors, then {pilot.executors}")
    pilot.wait_until(lambda: any(outcome.down_s is not None for outcome in pilot.rescales()), 90, "the end of the change")

    decided = [event for event in pilot.events() if isinstance(event, Decided) and event.effect == "asked"]
    assert {event.decision.direction for event in decided} == {"up", "down"} and all(event.decision.candidates for event in decided)
    assert not [event for event in pilot.events() if isinstance(event, RolledBack)]
    costs = [outcome for outcome in pilot.rescales() if outcome.done]
    assert [outcome for outcome in costs if outcome.down_s is None], "executors come without a stop"
    stopped = [outcome for outcome in costs if outcome.down_s is not None]
    assert stopped and all(0 < outcome.down_s <= outcome.took_s for outcome in stopped if outcome.down_s is not None), "and leave by one, which is charged"


def test_one_executor_all_the_time_would_have_fallen_behind(pilot: Pilot) -> None:
    if pilot.share.why_not:
        pytest.skip(f"executors cannot be held to a share of a core here: {pilot.share.why_not}")
    low = pilot.low
    with one_executor(pilot):
        pilot.wait_until(lambda: pilot.executors == 1 and pilot.keeps_its_promise(), 120, "a steady flow on one executor")
        pilot.rate(TIMES * low)
        pilot.pass_time(75)
        behind_s = pilot.job.query(QUERY)["lag_s"]
        print(f"one executor at {TIMES * low:.0f} rows/s: {behind_s:.1f} s behind")
        assert behind_s > PROMISED_S, "if one executor had been enough all the time, there was nothing to decide"
        pilot.rate(low)


def test_no_row_was_lost_by_all_that_and_what_is_doubled_was_counted(pilot: Pilot) -> None:
    pilot.holding = False
    pilot.share.release()
    pilot.rate(0.0)
    pilot.wait_until(lambda: pilot.job.has_caught_up(QUERY), 240, "the query to catch up")
    replayed, bootstrap = pilot.job.query(QUERY)["replayed_rows"], pilot.job.bootstrap
    sent = sum(end_offsets({"bootstrap.servers": bootstrap}, "numbers", PARTITIONS))
    found = Counter(read_positions(bootstrap, "passed", 1))
    assert sorted(found) == list(range(sent)), "nothing is lost"
    assert sum(found.values()) - len(found) <= replayed, "what is doubled was counted"
    assert not pilot.job.events("QueryFailed")
    assert pilot.job.stop() == 0


def test_replayed_it_decides_the_same_byte_for_byte_and_another_policy_can_be_asked_what_it_would_have_done(pilot: Pilot) -> None:
    assert pilot.job.process.poll() == 0, "it has ended"
    with HistoryReader.open(JobFolder(NAME).history) as reader:
        again = verify(reader)
    assert again.turns > 50 and again.first_difference is None
    asked = [sys.executable, "-m", "penstock", "replay", NAME, "--policy", "all", "--json"]
    found = json.loads(subprocess.run(asked, stdout=subprocess.PIPE, timeout=600, check=True).stdout)
    print(f"own error of the simulator: {found['own_error']}")
    assert {each["policy"] for each in found["policies"]} >= {"daedalus", "hpa", "static"}
