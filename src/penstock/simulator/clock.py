"""Time in a simulation."""

from __future__ import annotations


class SimulatedClock:
    """Seconds that pass only when somebody waits; a run begins at the first time of its trace."""

    def __init__(self, now_s: float = 0.0) -> None:
        self._now_s = now_s

    def now_s(self) -> float:
        return self._now_s

    def wait(self, seconds: float) -> None:
        self._now_s += max(0.0, seconds)
