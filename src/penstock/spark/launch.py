"""The JVM of Spark's driver: started in a session of its own, what it prints, and the signals that reach it."""

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import ensure_callback_server_started, launch_gateway

from penstock.core.errors import UserMistake
from penstock.spark.causes import first_sentence

SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set in the environment by spark-submit, which has started the JVM."""
LARGEST_BYTES = 20_000_000
LATEST_LINES = 100
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def launch_apart(master: str | None, settings: Mapping[str, str], archive: Path, log: Path | None, redact: Callable[[str], str]) -> None:
    """Start Spark's JVM in a process session of its own: a Ctrl-C at the terminal reaches Penstock alone, which then stops it in order.

    It still ends with this process, as it reads from a pipe that closes then. Under spark-submit it already runs.
    Settings that hold a secret are left out of its command line, which every user can read; the session builder sets them.
    """
    if SparkContext._gateway is not None or SUBMITTED in os.environ:
        return
    conf = SparkConf(loadDefaults=False)
    conf.setAll([(key, value) for key, value in settings.items() if redact(value) == value])
    if master:
        conf.set("spark.master", master)
    pipe = LogPipe(log, redact)
    try:
        # The Python that Spark plans sources with, in the driver, is the executors' one and may not have Penstock either.
        with python_path(archive):
            gateway = launch_gateway(conf, popen_kwargs={"start_new_session": True, "stdout": pipe.end, "stderr": pipe.end})  # type: ignore[no-untyped-call]
    except (PySparkRuntimeError, OSError) as error:
        pipe.close()
        cause = first_sentence(pipe.said() or redact(str(error)))
        raise UserMistake(f"Spark's JVM did not start for {master or 'the given master'}: {cause}; it needs Java 17 or newer (set JAVA_HOME)") from None
    SparkContext._ensure_initialized(gateway=gateway)
    pipe.close()


@contextmanager
def python_path(archive: Path) -> Iterator[None]:
    """Put this archive in front of PYTHONPATH, for processes that are started in the block."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(archive), *filter(None, [before])])
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


class LogPipe:
    """A pipe whose lines go, redacted, to `path`, or to the terminal if that is None; the JVM writes to `end`.

    An older file at `path` moves to `<path>.1`, as does one that grows too large.
    """

    def __init__(self, path: Path | None, redact: Callable[[str], str]) -> None:
        self._path = path
        self._redact = redact
        try:
            self._file = None if path is None else opened(path)
        except OSError as error:
            raise UserMistake(f"Spark's log {path} cannot be written: {error.strerror}; name another with --spark-log, or - for the terminal") from None
        self._latest: deque[str] = deque(maxlen=LATEST_LINES)
        reading, self.end = os.pipe()
        self._thread = threading.Thread(target=self._pump, args=(reading,), name="penstock-spark-log", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close this process's end; the pipe lives until the JVM's is closed too."""
        os.close(self.end)

    def said(self) -> str:
        """Return the latest lines of a JVM that has ended."""
        self._thread.join(timeout=5)
        return "".join(self._latest)

    def _pump(self, reading: int) -> None:
        with os.fdopen(reading, errors="replace") as lines:
            for line in lines:
                masked = self._redact(line)
                self._latest.append(masked)
                try:
                    self._write(masked)
                except (OSError, ValueError):
                    # The disk may be full. Go on reading: else the JVM would block on the pipe.
                    pass

    def _write(self, line: str) -> None:
        if self._path is None or self._file is None:
            sys.stderr.write(line)
            return
        self._file.write(line)
        if self._file.tell() > LARGEST_BYTES:
            self._file.close()
            self._file = opened(self._path)


def opened(path: Path) -> TextIO:
    """Open a new file at `path`; the old one is kept as `<path>.1`."""
    if path.exists():
        path.replace(path.with_name(f"{path.name}.1"))
    return open(path, "w", buffering=1, errors="replace")


class _Listener:
    """A `sun.misc.SignalHandler` in this process."""

    def __init__(self, heard: Callable[[], None]) -> None:
        self._heard = heard

    def handle(self, _: Any) -> None:
        self._heard()

    class Java:
        implements = ("sun.misc.SignalHandler",)


def forward_signals(gateway: Any, pass_on: Callable[[int], None]) -> None:
    """Call `pass_on` with the signals that ask the JVM of spark-submit to stop; by itself it would stop Spark at once, in the middle of a batch.

    Signals that are ignored here are left to the JVM.
    """
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    signals = gateway.jvm.sun.misc.Signal
    for number in STOPPING:
        if signal.getsignal(number) != signal.SIG_IGN:
            try:
                signals.handle(signals(number.name.removeprefix("SIG")), _Listener(partial(pass_on, number)))
            except Py4JJavaError:
                continue  # a JVM started with -Xrs has no handler to replace
