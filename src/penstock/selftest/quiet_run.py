"""Runs on Spark of which others did not have too much: one that they disturbed is made again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.core.errors import UserMistake
from penstock.selftest.recorded_run import START_S, Recorded, recorded_run

ATTEMPTS, MOST_STOLEN = 3, 0.25
"""A run in which others had the machine for more than this share says little, and is made again, so often in all."""

Progress = Callable[[int, int], None]


@dataclass(kw_only=True)
class Made:
    """How far the runs are, in seconds; one that has to be made again makes it longer."""

    progress: Progress
    all_s: float
    done_s: float = 0.0
    repeated: int = 0

    def so_far(self, spent_s: float) -> None:
        self.progress(int(self.done_s + spent_s), int(self.all_s))

    def ran(self, seconds: float, *, again: bool) -> None:
        self.done_s += seconds
        self.all_s += seconds if again else 0.0
        self.repeated += again


def quiet_run(seconds: float, highest: float, history: Path, made: Made) -> Recorded:
    """A run on Spark; made again where others had the machine for much of it, whatever it would have shown."""
    for left in reversed(range(ATTEMPTS)):
        run = recorded_run(seconds, highest, history, made.so_far)
        stolen_s = run.stolen_s(run.released_s)
        loud = stolen_s > MOST_STOLEN * seconds
        made.ran(START_S + seconds, again=loud and left > 0)
        if not loud:
            return run
    raise UserMistake(
        f"others had this machine for {stolen_s:,.0f} of {seconds:,.0f} s (steal in /proc/stat), in the last of {ATTEMPTS} runs: nothing can be compared; "
        f"try again at a calmer time. The history is {history}"
    )
