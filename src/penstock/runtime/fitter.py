"""Fits in a child process: slow and large they may be, the job beside them does not notice."""

from __future__ import annotations

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
HOME = str(Path(__file__).parents[2])
"""Where this Penstock was found: the child is to find the same."""
CHILD = (sys.executable, "-P", "-m", "penstock.runtime.fitter")
"""Without the folder that the driver was started in: a file there must not take the place of a module."""

Report = Callable[[FitDone], None]


class NoAnswerError(Exception):
    """A fit that came to nothing, in words."""


class ProcessFitter:
    """One child for all fits, one after another: started at the first, killed when a fit takes longer than `timeout_s`, ended after `idle_s` without one.

    The child is held to `memory_mb`, works at low priority on one core, inherits nothing but its two pipes, and dies with this process.
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
        """Have it done; `report` is called by a thread of this fitter, or at once if it is closed."""
        with self._lock:
            closed = self._closed
            if not closed:
                self._asked.put((asked, report))
                if self._thread is None:
                    # The kernel ends the child with the thread that started it, so that thread lives as long as the fitter.
                    self._thread = threading.Thread(target=self._serve, name="penstock-fitter", daemon=True)
                    self._thread.start()
        if closed:
            report(_nothing(asked, "the fitter was closed"))

    def close(self) -> None:
        """Give up what is under way and leave no process; more than once is allowed."""
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
        """A line to the child, a line back; whatever keeps either of them, the child is dead when the time is over."""
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
            # What it was not told any more is lost with it.
            with suppress(BrokenPipeError), child:
                pass


def _nothing(asked: FitAsked, why: str) -> FitDone:
    return FitDone(number=asked.number, took_s=0.0, error=why)


def _how(code: int) -> str:
    """How a process ended.

    >>> _how(-9), _how(1)
    ('SIGKILL', 'exit code 1')
    """
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


class InlineFitter:
    """Fits at once, in the turn that asks: time stands still meanwhile, so a simulation is the same every time."""

    def __init__(self) -> None:
        self._closed = False

    def ask(self, asked: FitAsked, report: Callable[[FitDone], None]) -> None:
        report(FitDone(number=asked.number, took_s=0.0, error="the fitter was closed") if self._closed else self._fitted(asked))

    def close(self) -> None:
        self._closed = True

    def _fitted(self, asked: FitAsked) -> FitDone:
        try:
            return fitted(asked)
        except Exception as error:
            return FitDone(number=asked.number, took_s=0.0, error=f"{type(error).__name__}: {error}")


NICE = 10


def main(parent: int, memory_mb: int, fit: Callable[[FitAsked], FitDone] = fitted) -> None:
    """Answer until the questions end; what a library prints goes to the standard error, as answers have the standard output for themselves."""
    die_with_parent()
    if os.getppid() != parent:
        return
    os.nice(NICE)
    # What statsforecast is made of imports pyspark wherever there is one; nothing here needs it.
    sys.modules["pyspark"] = None  # type: ignore[assignment]
    most = memory_mb * 1_000_000
    # Not the address space: numba maps far more than it ever uses.
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        for line in sys.stdin.buffer:
            print(encode(answer(decode(FitAsked, line.decode()), memory_mb, fit)), file=answers, flush=True)


def answer(asked: FitAsked, memory_mb: int, fit: Callable[[FitAsked], FitDone]) -> FitDone:
    try:
        return fit(asked)
    except MemoryError:
        return FitDone(number=asked.number, took_s=0.0, error=f"it needs more than the {memory_mb} MB that settings.fit_memory_mb allows")
    except Exception as error:
        return FitDone(number=asked.number, took_s=0.0, error=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
