"""CPU time of executors on other machines: their own `JVMCPU` metric, which Spark's Graphite sink sends to a port of the driver."""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock, Thread
from typing import cast

from penstock.core.errors import UserMistake

SINK = "spark.metrics.conf.executor.sink.penstock"
METRIC = ".JVMCPU.jvmCpuTime"

LONGEST_LINE_BYTES = 4096
LONGEST_CONNECTION_S = 60.0
MOST_CONNECTIONS = 1024
MOST_EXECUTORS = 4096
MOST_SAMPLES = 8
FRESH_S = 30.0
FORGOTTEN_AFTER_S = 3600.0


def graphite_settings(host: str, port: int, period_s: int = 1) -> dict[str, str]:
    """Return the Spark settings by which every executor sends its CPU time, and nothing else, to this address.

    The sink has a name of its own, so that a Graphite sink of the user's stays as it is.

    >>> graphite_settings("driver", 2003)["spark.metrics.conf.executor.sink.penstock.class"]
    'org.apache.spark.metrics.sink.GraphiteSink'
    """
    if period_s < 1:
        raise ValueError(f"period_s: found {period_s}, Spark's sinks report once a second at most")
    return {
        f"{SINK}.class": "org.apache.spark.metrics.sink.GraphiteSink",
        f"{SINK}.host": host,
        f"{SINK}.port": str(port),
        f"{SINK}.period": str(period_s),
        f"{SINK}.unit": "seconds",
        f"{SINK}.protocol": "tcp",
        f"{SINK}.regex": "[.]JVMCPU[.]jvmCpuTime$",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuLine:
    """A parsed line. The owner is the application id, after the prefix of the sink."""

    owner: str
    executor_id: str
    cpu_s: float


def parse_line(line: bytes) -> CpuLine | None:
    """Parse a line `path value timestamp` with CPU time in nanoseconds; return None for any other line.

    >>> parse_line(b"app-1.7.JVMCPU.jvmCpuTime 2500000000 1700000000")
    CpuLine(owner='app-1', executor_id='7', cpu_s=2.5)
    >>> parse_line(b"app-1.7.JVMCPU.jvmCpuTime -1 1700000000") is None
    True
    """
    try:
        path, value, _ = line.decode().split()
        nanoseconds = float(value)
    except ValueError:
        return None
    owner, _, executor_id = path.removesuffix(METRIC).rpartition(".")
    if not (path.endswith(METRIC) and owner and executor_id and math.isfinite(nanoseconds) and nanoseconds >= 0):
        return None
    return CpuLine(owner=owner, executor_id=executor_id, cpu_s=nanoseconds / 1e9)


def value_at(samples: Sequence[tuple[float, float]], at_s: float) -> float | None:
    """Interpolate a counter at a moment; return the newest value after the last sample, None before the first.

    >>> samples = [(10.0, 4.0), (11.0, 5.0)]
    >>> value_at(samples, 10.5), value_at(samples, 12.0), value_at(samples, 9.0)
    (4.5, 5.0, None)
    """
    for index in range(len(samples) - 1, -1, -1):
        then_s, value = samples[index]
        if then_s <= at_s:
            next_s, next_value = samples[min(index + 1, len(samples) - 1)]
            return value if next_s <= at_s else value + (next_value - value) * (at_s - then_s) / (next_s - then_s)
    return None


class CpuReports:
    """The latest reports of one application's executors, the longest silent first; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._application_id: str | None = None
        self._samples: dict[str, deque[tuple[float, float]]] = {}

    def belong_to(self, application_id: str) -> None:
        """Forget everything, and accept the reports of this application from now on; the sink writes blanks as dashes."""
        with self._lock:
            self._application_id = re.sub(r"\s+", "-", application_id.strip())
            self._samples.clear()

    def hear(self, line: bytes, now_s: float) -> None:
        """Keep a line, if it is this application's and there is room."""
        said = parse_line(line)
        with self._lock:
            self._forget_old(now_s)
            if said is None or not self._application_id or not f".{said.owner}".endswith(f".{self._application_id}"):
                return
            if said.executor_id in self._samples or len(self._samples) < MOST_EXECUTORS:
                samples = self._samples.pop(said.executor_id, None) or deque(maxlen=MOST_SAMPLES)
                samples.append((now_s, said.cpu_s))
                self._samples[said.executor_id] = samples

    def cpu_s(self, executor_id: str, at_s: float, now_s: float) -> float | None:
        """Return the executor's CPU seconds at a moment; None if it has not reported lately, or not yet at that moment."""
        with self._lock:
            samples = tuple(self._samples.get(executor_id, ()))
        return value_at(samples, at_s) if samples and now_s - samples[-1][0] <= FRESH_S else None

    def __len__(self) -> int:
        with self._lock:
            return len(self._samples)

    def _forget_old(self, now_s: float) -> None:
        while self._samples:
            longest_silent = next(iter(self._samples))
            if now_s - self._samples[longest_silent][-1][0] <= FORGOTTEN_AFTER_S:
                return
            del self._samples[longest_silent]


class GraphiteCpu:
    """Listens for the CPU time of one application's executors from a daemon thread until closed; port 0 takes any free one.

    It returns the counter of two reporting periods ago, which lies between two known reports: so rates do not depend on whether a report came
    just before or just after a reading.
    """

    def __init__(
        self, bind_host: str = "0.0.0.0", *, port: int = 0, application_id: str | None = None, period_s: int = 1, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._now = now
        self._behind_s = 2.0 * period_s
        self._reports = CpuReports()
        if application_id is not None:
            self.listen_to(application_id)
        self._socket = _bound(bind_host, port)
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        self._connections: set[_Connection] = set()
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda _loop, _context: None)
        self._end = asyncio.Event()
        self._closed = False
        self._thread = Thread(target=self._run, name="penstock-graphite", daemon=True)
        self._thread.start()

    def listen_to(self, application_id: str) -> None:
        """Accept the lines of this application only (its id, or its `spark.metrics.namespace`); before this call, none are accepted."""
        self._reports.belong_to(application_id)

    def cpu_s(self, executor_id: str) -> float | None:
        """Return the CPU seconds of the executor's JVM; None if it has not reported in the last 30 s, or has only just begun to."""
        now_s = self._now()
        return self._reports.cpu_s(executor_id, now_s - self._behind_s, now_s)

    def close(self) -> None:
        """End the thread and free the port; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join()

    def _run(self) -> None:
        with contextlib.closing(self._loop), contextlib.suppress(OSError):
            self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        server = await self._loop.create_server(lambda: _Connection(self._connections, self._hear), sock=self._socket, backlog=MOST_CONNECTIONS)
        await self._end.wait()
        server.close()
        for connection in tuple(self._connections):
            connection.cut()
        await asyncio.sleep(0)

    def _hear(self, line: bytes) -> None:
        self._reports.hear(line, self._now())


class _Connection(asyncio.BufferedProtocol):
    """Splits one sender's lines in a buffer of fixed size; a line that does not fit ends the connection.

    Spark opens a new connection for each report, so one that lasts is cut. An unfinished line is never parsed: half a number is a number too.
    """

    def __init__(self, connections: set[_Connection], hear: Callable[[bytes], None]) -> None:
        self._connections = connections
        self._hear = hear
        self._buffer = bytearray(LONGEST_LINE_BYTES)
        self._filled = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._timer = asyncio.get_running_loop().call_later(LONGEST_CONNECTION_S, self.cut)
        if len(self._connections) >= MOST_CONNECTIONS:
            self.cut()
        else:
            self._connections.add(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self._buffer)[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        *lines, rest = bytes(self._buffer[: self._filled]).split(b"\n")
        for line in lines:
            self._hear(line)
        self._buffer[: len(rest)] = rest
        self._filled = len(rest)
        if self._filled == LONGEST_LINE_BYTES:
            self.cut()

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        self._connections.discard(self)

    def cut(self) -> None:
        self._transport.abort()


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        why = (error.strerror or str(error)).partition(" (")[0].lower()
        raise UserMistake(f"cannot listen for the CPU of executors on {host}:{port}: {why}; give another address, or port 0 for any free one") from None
