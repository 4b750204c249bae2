"""Ctrl-C, SIGTERM and SIGHUP."""

import math
import os
import signal
import threading
import time
from types import FrameType

from penstock.cli import EXIT_AT_ONCE

PATIENCE_S = 10.0
BOTH_S = 0.5
"""A signal to all processes of a terminal reaches this one and Spark's JVM within this time."""


class StopAsked(Exception):
    """A signal asked for a stop while the job was starting."""


class StopSignals:
    """The first signal asks for a stop after the next commit, the second for an immediate stop; if that hangs, the process ends."""

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
        """Reinstall the handlers, as Spark installs its own for Ctrl-C during a start; raise StopAsked if a signal came."""
        self.install()
        if self.asked.is_set():
            raise StopAsked

    def pass_on(self, number: int) -> None:
        """Handle a signal that only Spark's JVM received; Ctrl-C at a terminal reaches both. Do not call it in the main thread."""
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
