"""Signals that reach the JVM of spark-submit: left to itself, it stops Spark at once, in the middle of a batch."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.java_gateway import ensure_callback_server_started

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Listener:
    """A `sun.misc.SignalHandler` in this process."""

    def __init__(self, heard: Callable[[], None]) -> None:
        self._heard = heard

    def handle(self, _: Any) -> None:
        self._heard()

    class Java:
        implements = ("sun.misc.SignalHandler",)


def hear_for_jvm(gateway: Any, pass_on: Callable[[int], None]) -> None:
    """Let `pass_on` hear the signals that ask the JVM to stop, in place of the JVM; those that are ignored here stay ignored there."""
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    signals = gateway.jvm.sun.misc.Signal
    for number in STOPPING:
        if signal.getsignal(number) != signal.SIG_IGN:
            try:
                signals.handle(signals(number.name.removeprefix("SIG")), _Listener(partial(pass_on, number)))
            except Py4JJavaError:
                continue  # a JVM that was told to leave signals alone (-Xrs) has no handler to replace
