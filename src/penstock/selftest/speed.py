"""Time six simulated hours as a command, and a turn of the loop with 1,000 executors."""

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.fitting import FitDone, fitted
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.terms import Terms
from penstock.core.loop import turn
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine
from penstock.simulator.plant import SimulatedClock, SimulatedPlant

STATIC_TARGET_S, POLICY_TARGET_S, TURN_TARGET_MS = 2.0, 60.0, 50.0
HOURS_S = 6 * 3600.0
STATICS = 3
"""The static command is timed this often; the median counts."""
EXECUTORS, LEARNING_TURNS, TIMED_TURNS = 1000, 30, 9
TURNS_OF = ("auto", "daedalus", "hpa")
"""Policies whose turns are timed: the default, the one that learns most, and one that learns nothing."""
TURN_S = 60.0
"""The policy decides in every turn, four of five times with a cached forecast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Wall-clock seconds of six simulated hours on one core, and CPU milliseconds of a turn in which a policy decides with a cached forecast."""

    static_s: float
    policy_s: float
    turn_ms: Mapping[str, float]

    @property
    def missed(self) -> tuple[str, ...]:
        return tuple(what for what, _, met in self._judged() if not met)

    def rows(self) -> list[tuple[str, str]]:
        """
        >>> Speed(static_s=1.5, policy_s=20.0, turn_ms={"auto": 80.0}).rows()[2]
        ('a turn of auto with 1,000 executors', '80 ms, target below 50 ms: MISS')
        """
        return [(what, f"{words}: {'pass' if met else 'MISS'}") for what, words, met in self._judged()]

    def _judged(self) -> list[tuple[str, str, bool]]:
        return [
            ("six hours of static", f"{self.static_s:.2f} s, target below {STATIC_TARGET_S:g} s", self.static_s < STATIC_TARGET_S),
            ("six hours of daedalus", f"{self.policy_s:.1f} s, target below {POLICY_TARGET_S:g} s", self.policy_s < POLICY_TARGET_S),
            *(
                (f"a turn of {policy} with {EXECUTORS:,} executors", f"{took_ms:.0f} ms, target below {TURN_TARGET_MS:g} ms", took_ms < TURN_TARGET_MS)
                for policy, took_ms in self.turn_ms.items()
            ),
        ]


def measure_speed(progress: Callable[[int, int], None]) -> Speed:
    steps = STATICS + 1 + len(TURNS_OF)
    with tempfile.TemporaryDirectory(prefix="penstock-speed-") as folder:
        trace = Path(folder) / "trace.csv"
        times_s = np.arange(0.0, HOURS_S + 1, 60.0)
        rates = 30_000 + 20_000 * np.sin(2 * math.pi * times_s / 7200)
        trace.write_text("t,rate\n" + "".join(f"{at_s:.0f},{rate:.1f}\n" for at_s, rate in zip(times_s, rates, strict=True)))
        statics = []
        for number in range(STATICS):
            progress(number, steps)
            statics.append(simulated_s(trace, "static"))
        progress(STATICS, steps)
        policy_s = simulated_s(trace, "daedalus")
    turns_ms = {}
    for number, policy in enumerate(TURNS_OF, start=STATICS + 1):
        progress(number, steps)
        turns_ms[policy] = usual_turn_ms(policy)
    progress(steps, steps)
    return Speed(static_s=median(statics), policy_s=policy_s, turn_ms=turns_ms)


def usual_turn_ms(policy: str) -> float:
    """Return the median CPU time of a turn in milliseconds after the learning turns."""
    job = LargeJob(EXECUTORS, policy)
    turns_ms = [job.turn_ms() for _ in range(LEARNING_TURNS + TIMED_TURNS)]
    return median(turns_ms[LEARNING_TURNS:])


def simulated_s(trace: Path, policy: str) -> float:
    """Return the wall-clock seconds of the command on one core."""
    command = [sys.executable, "-m", "penstock", "simulate", "--trace", str(trace), "--policy", policy, "--json"]
    with on_one_core():
        began = time.monotonic()
        subprocess.run(command, check=True, capture_output=True, timeout=1800)
        return time.monotonic() - began


@contextmanager
def on_one_core() -> Iterator[None]:
    """Pin this thread and the processes it starts to one core, if the system can."""
    if sys.platform != "linux":
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class LargeJob:
    """A simulated job in micro-batches under a policy in shadow that may choose any number of executors."""

    def __init__(self, executors: int, policy: str = "daedalus") -> None:
        self._terms = Terms(
            limits=Limits(min_executors=1, max_executors=executors),
            promises=Promises(latency_p95_s=20.0, recovery_s=300.0),
            config=Config(reading_interval_s=TURN_S, reading_window_s=TURN_S, forecast_interval_s=5 * TURN_S),
            autopilot=Autopilot(mode="shadow", policy=policy, downtime_s=30.0),
        )
        settings = MicroBatchSettings(row_s=0.001, partitions=2 * executors, trigger=Trigger(interval_s=10.0), noise=0.03)
        times_s = np.arange(0.0, HOURS_S, TURN_S)
        load = Load.of(Arrivals.through(times_s, executors * (500.0 + 200.0 * np.sin(times_s / 900.0))), 0.0)
        self._clock = SimulatedClock(0.0)
        self._plant = SimulatedPlant(MicroBatchEngine(settings, load, executors=executors), self._clock, self._terms.config, self._terms.promises)
        self._fits: tuple[FitDone, ...] = ()
        self.knowledge = Knowledge(declared=Configuration(executors=executors), desired=Configuration(executors=executors))

    def turn_ms(self) -> float:
        """Advance a minute and return the CPU time of the turn alone, without reading and fitting."""
        self._clock.wait(TURN_S)
        inputs = Inputs(at_s=self._clock.now_s(), reading=self._plant.read(), fits=self._fits)
        began = time.process_time()
        done = turn(self.knowledge, inputs, self._terms)
        took_s = time.process_time() - began
        self.knowledge, self._fits = done.knowledge, () if done.fit is None else (fitted(done.fit),)
        return 1000 * took_s
