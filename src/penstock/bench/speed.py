"""How fast the machine is while something is measured on it: on a shared one, the same work takes up to twice as long a minute later."""

from __future__ import annotations

import hashlib
import threading
import time
from types import TracebackType

PIECE_BYTES = 64 * 1024
PIECES = 10
EVERY_S = 0.04


class SpeedProbe:
    """Hashes a little, about twenty times a second, and notes how much CPU time that takes; `speed` is the mean of pieces per CPU second."""

    def __init__(self) -> None:
        self._speeds: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._probe, name="speed-probe", daemon=True)

    def _probe(self) -> None:
        piece = b"x" * PIECE_BYTES
        while not self._over.wait(EVERY_S):
            began_s = time.thread_time()
            for _ in range(PIECES):
                hashlib.sha512(piece).digest()
            self._speeds.append(PIECES / (time.thread_time() - began_s))

    @property
    def speed(self) -> float:
        return sum(self._speeds) / len(self._speeds)

    def __enter__(self) -> SpeedProbe:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
