"""A feeder process as its owner handles it: started with an order, monitored, and stopped."""

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO

from penstock.core.errors import UserMistake
from penstock.kafka.feeder import DRAIN_S, FeedReport
from penstock.processes import end_process

START_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a feeder is to do: `options` are those of a trace, its state file included; `client` may hold secrets."""

    topic: str
    partitions: int
    client: Mapping[str, str]
    options: Mapping[str, str]
    mark: Path
    value_format: str = "json"
    limit: int | None = None

    def text(self) -> str:
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        return json.dumps({**plain, "client": dict(self.client), "options": dict(self.options), "mark": str(self.mark), "parent": os.getpid()})


class Feed:
    """A running feeder; `heard` is called from a thread of its own with every report, and with None if it fails."""

    def __init__(self, order: Order, heard: Callable[[FeedReport | None], None] = lambda report: None) -> None:
        self.order = order
        self.last: FeedReport | None = None
        self._heard = heard
        self._first = threading.Event()
        self._said: deque[str] = deque(maxlen=20)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "penstock.kafka.feeder"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        assert self._process.stdin and self._process.stdout and self._process.stderr
        give(self._process.stdin, order.text())
        self._errors = threading.Thread(target=self._keep_errors, args=(self._process.stderr,), name=f"penstock-feed-errors-{order.topic}", daemon=True)
        self._listener = threading.Thread(target=self._listen, args=(self._process.stdout,), name=f"penstock-feed-{order.topic}", daemon=True)
        self._errors.start()
        self._listener.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait_first(self, timeout_s: float = START_S) -> None:
        """Wait until it feeds; raise its error if it cannot."""
        if not self._first.wait(timeout_s) or self.last is None:
            raise UserMistake(self.close() or f"feed: the feeder of {self.order.topic} did not start")

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until it has sent everything; raise its error if it cannot."""
        self._process.wait(timeout_s)
        self._listener.join(timeout=5)
        if self._process.returncode:
            raise UserMistake(self.close() or f"feed: the feeder of {self.order.topic} was killed")

    def close(self) -> str:
        """End it after it has sent what it has taken up; return its error, or ""."""
        end_process(self._process, DRAIN_S + 5)
        for thread in (self._listener, self._errors):
            if thread is not threading.current_thread():
                thread.join(timeout=5)
        return self._said[-1] if self._said and self._process.returncode else ""

    def _listen(self, reports: IO[str]) -> None:
        with reports:
            for line in reports:
                self.last = FeedReport(**json.loads(line))
                self._first.set()
                self._heard(self.last)
        self._first.set()
        if self.last is None or not self.last.ended:
            self._process.wait()
            self._heard(None)

    def _keep_errors(self, errors: IO[str]) -> None:
        with errors:
            self._said.extend(filter(None, (line.strip() for line in errors)))


def give(pipe: IO[str], order: str) -> None:
    """Write the order to a pipe: other users could read a command line or a file."""
    try:
        with pipe:
            pipe.write(order)
    except BrokenPipeError:
        pass  # it has died already; its standard error has the reason
