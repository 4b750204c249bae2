"""Ctrl-C, SIGTERM and SIGHUP."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from types import FrameType

from penstock.cli import EXIT_AT_ONCE

PATIENCE_S = 10.0
BOTH_S = 0.5
"""A signal for all processes of a terminal reaches this one and Spark's JVM within so long."""


class StopAsked(Exception):
    """Somebody asked to stop while the job was still being started."""


class StopSignals:
    """The first asks for a stop after the next commit; a second for a stop at once, and if even that hangs the process ends."""

    def __init__(self) -> None:
        self.count = 0
        self.asked = threading.Event()
        self.name = ""
        self._heard_s = -math.inf
        self._last_resort: threading.Timer | None = None

    def install(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Under nohup a terminal that goes away is to be ignored.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._heard)

    def check(self) -> None:
        """Between two steps of a start: Spark puts a handler of its own for Ctrl-C in place, so ours is put back; raise if a stop was asked for."""
        self.install()
        if self.asked.is_set():
            raise StopAsked

    def pass_on(self, number: int) -> None:
        """Hear what was said to Spark's JVM alone; what was said to both, as by Ctrl-C at a terminal, was heard already. Not for the main thread."""
        said_s = time.monotonic()
        time.sleep(BOTH_S)
        if self._heard_s < said_s - BOTH_S:
            os.kill(os.getpid(), number)

    def at_once(self) -> bool:
        return self.count > 1

    def done(self) -> None:
        if self._last_resort is not None:
            self._last_resort.cancel()

    def _heard(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        self._heard_s = time.monotonic()
        self.name = signal.Signals(number).name
        self.asked.set()
        if self.count == 2:
            self._last_resort = threading.Timer(PATIENCE_S, os._exit, [EXIT_AT_ONCE])
            self._last_resort.daemon = True
            self._last_resort.start()
