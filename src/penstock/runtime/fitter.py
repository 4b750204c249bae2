"""Run fits in a child process, so that slow and large ones do not disturb the job; or at once, in a simulation."""

import os
import queue
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from penstock.core.knowledge.fitting import FitAsked, FitDone, fitted
from penstock.processes import die_with_parent
from penstock.runtime.steady_clock import SteadyClock
from penstock.stores.codec import decode, encode

IDLE_S = 600.0
NICE = 10
HOME = str(Path(__file__).parents[2])
"""Where the child finds the same Penstock."""
CHILD = (sys.executable, "-P", "-m", "penstock.runtime.fitter")
"""`-P`: a file in the driver's working directory must not shadow a module."""

Report = Callable[[FitDone], None]


class NoAnswerError(Exception):
    """A fit without a result."""


class ProcessFitter:
    """Runs all fits one after another in one child, started at the first, killed when a fit exceeds `timeout_s`, ended after `idle_s` without one.

    The child is limited to `memory_mb`, has low priority and one core, inherits only its two pipes, and dies with this process.
    """

    def __init__(self, memory_mb: int, timeout_s: float, *, idle_s: float = IDLE_S, command: Sequence[str] = CHILD) -> None:
        self._memory_mb = memory_mb
        self._timeout_s = timeout_s
        self._idle_s = idle_s
        self._command = tuple(command)
        self._clock = SteadyClock()
        self._asked: queue.Queue[tuple[FitAsked, Report] | None] = queue.Queue()
        self._lock = threading.Lock()
        self._closed = False
        self._child: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None

    def ask(self, asked: FitAsked, report: Report) -> None:
        """Queue a fit; `report` is called by a thread of this fitter, or at once if it is closed."""
        with self._lock:
            closed = self._closed
            if not closed:
                self._asked.put((asked, report))
                if self._thread is None:
                    # The kernel ends the child with the thread that started it, so this thread lives as long as the fitter.
                    self._thread = threading.Thread(target=self._serve, name="penstock-fitter", daemon=True)
                    self._thread.start()
        if closed:
            report(_nothing(asked, "the fitter was closed"))

    def close(self) -> None:
        """Abort the current fit and end the child; a second call does nothing."""
        with self._lock:
            self._closed = True
            if self._child is not None:
                self._child.kill()
        if self._thread is not None:
            self._asked.put(None)
            self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                work = self._asked.get(timeout=None if self._child is None else self._idle_s)
            except queue.Empty:
                self._end_child()
                continue
            if work is None:
                break
            asked, report = work
            report(self._fit(asked))
        self._end_child()

    def _fit(self, asked: FitAsked) -> FitDone:
        started_s = self._clock.now_s()
        try:
            done = self._exchange(asked)
        except Exception as error:
            self._end_child()
            done = _nothing(asked, "the fitter was closed" if self._closed else str(error) or type(error).__name__)
        return replace(done, took_s=self._clock.now_s() - started_s)

    def _exchange(self, asked: FitAsked) -> FitDone:
        """Send a line to the child and return its answer; kill the child when the time is over."""
        child = self._living_child()
        assert child.stdin is not None and child.stdout is not None
        late = threading.Event()

        def give_up() -> None:
            late.set()
            child.kill()

        timer = threading.Timer(self._timeout_s, give_up)
        timer.daemon = True
        timer.start()
        try:
            with suppress(BrokenPipeError):
                child.stdin.write(f"{encode(asked)}\n".encode())
                child.stdin.flush()
            line = child.stdout.readline()
        finally:
            timer.cancel()
        if line.endswith(b"\n"):
            return decode(FitDone, line.decode())
        raise NoAnswerError(f"no result within {self._timeout_s:g} s" if late.is_set() else f"the fitting process ended: {_how(child.wait())}")

    def _living_child(self) -> subprocess.Popen[bytes]:
        if self._child is not None and self._child.poll() is not None:
            self._end_child()
        with self._lock:
            if self._closed:
                raise NoAnswerError
            if self._child is None:
                self._child = self._started()
            return self._child

    def _started(self) -> subprocess.Popen[bytes]:
        path = os.pathsep.join(filter(None, (HOME, os.environ.get("PYTHONPATH"))))
        return subprocess.Popen(
            [*self._command, str(os.getpid()), str(self._memory_mb)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip

    def _end_child(self) -> None:
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            child.kill()
            # Closing flushes what is unsent, which is lost with the child.
            with suppress(BrokenPipeError), child:
                pass


def _nothing(asked: FitAsked, why: str) -> FitDone:
    return FitDone(number=asked.number, took_s=0.0, error=why)


def _how(code: int) -> str:
    """Return how a process ended.

    >>> _how(-9), _how(1)
    ('SIGKILL', 'exit code 1')
    """
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


class InlineFitter:
    """Fits at once, in the turn that asks: simulated time does not advance meanwhile, so that a simulation can be repeated exactly."""

    def __init__(self) -> None:
        self._closed = False

    def ask(self, asked: FitAsked, report: Report) -> None:
        report(_nothing(asked, "the fitter was closed") if self._closed else _answer(asked, fitted))

    def close(self) -> None:
        self._closed = True


def main(parent: int, memory_mb: int, fit: Callable[[FitAsked], FitDone] = fitted) -> None:
    """Run the child: answer each line of standard input on standard output, until the input ends or the parent is gone; libraries print to standard error."""
    die_with_parent()
    if os.getppid() != parent:
        return
    os.nice(NICE)
    # A dependency of statsforecast imports pyspark if it is installed; nothing here needs it.
    sys.modules["pyspark"] = None  # type: ignore[assignment]
    most = memory_mb * 1_000_000
    # Not the address space: numba maps far more than it ever uses.
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        for line in sys.stdin.buffer:
            print(encode(_answer(decode(FitAsked, line.decode()), fit, memory_mb)), file=answers, flush=True)


def _answer(asked: FitAsked, fit: Callable[[FitAsked], FitDone], memory_mb: int | None = None) -> FitDone:
    """Return the result of a fit, or a result with its error."""
    try:
        return fit(asked)
    except Exception as error:
        too_large = isinstance(error, MemoryError) and memory_mb is not None
        return _nothing(asked, f"it needs more than the {memory_mb} MB that settings.fit_memory_mb allows" if too_large else f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
