"""Keep a copy of the history beside the checkpoint, and the lease there renewed, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from penstock.core.domain.event import Event, LeaseLost, LeaseNotRenewed, SnapshotFailed
from penstock.ports import BesideCheckpoint, Clock
from penstock.runtime.attempts import Attempts
from penstock.runtime.joblease import CheckpointLease
from penstock.stores.snapshot import restore_snapshot, take_snapshot

NAME = "history.db"
COPY = "history.copy"


def restore_history(beside: BesideCheckpoint, history: Path) -> bool:
    """Fetch the history from beside the checkpoint where the local one is gone; whether it was."""
    if history.exists() and history.stat().st_size > 0:
        return False
    with on_its_way(history) as copy:
        return beside.download(NAME, copy) and restore_snapshot(copy, history)


@contextmanager
def on_its_way(history: Path) -> Iterator[Path]:
    """Where a copy is while it goes to the checkpoint or comes from there: in the job's own folder, where the next one takes the place of what a killed
    driver left."""
    copy = history.with_name(COPY)
    copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        yield copy
    finally:
        copy.unlink(missing_ok=True)


class Snapshots:
    """Takes a snapshot every interval, and renews the lease at least three times before it would run out."""

    def __init__(
        self, *, beside: BesideCheckpoint, history: Path, lease: CheckpointLease, interval_s: float, clock: Clock,
        note: Callable[[Sequence[Event]], None], on_lost: Callable[[], None],
    ) -> None:  # fmt: skip
        self._beside = beside
        self._history = history
        self._lease = lease
        self._interval_s = interval_s
        self._clock = clock
        self._note = note
        self._on_lost = on_lost
        self._attempts = Attempts()
        self._lost = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-snapshots", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """One last snapshot, and the lease given back; nothing is written over what somebody else has taken."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout=60)
        self._attempt(self._renew, LeaseNotRenewed)
        if not self._lost:
            self.take()
            self._attempt(self._lease.release, LeaseNotRenewed)

    def take(self) -> None:
        def copy() -> None:
            with on_its_way(self._history) as target:
                take_snapshot(self._history, target)
                self._beside.upload(target, NAME)

        self._attempt(copy, SnapshotFailed)

    def _run(self) -> None:
        due_s = self._clock.now_s() + self._interval_s
        while not self._stopping.wait(max(0.0, min(due_s - self._clock.now_s(), self._lease.renewal_s))):
            self._attempt(self._renew, LeaseNotRenewed)
            if not self._lost and self._clock.now_s() >= due_s:
                self.take()
                due_s = self._clock.now_s() + self._interval_s

    def _renew(self) -> None:
        other = self._lease.renew()
        if other is not None:
            self._lost = True
            self._note([LeaseLost(at_s=self._clock.now_s(), holder=other.words)])
            self._stopping.set()
            self._on_lost()

    def _attempt(self, work: Callable[[], None], failed: type[SnapshotFailed | LeaseNotRenewed]) -> None:
        """Do it; a failure is said once as the event `failed`, until it works again."""
        self._attempts.attempt(failed.__name__, work, lambda error: self._note([failed(at_s=self._clock.now_s(), reason=" ".join(str(error).split())[:300])]))
