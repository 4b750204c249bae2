"""Copy the history beside the checkpoint and renew the lease there, each in a thread of its own."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from penstock.core.domain.events.event import Event
from penstock.core.domain.events.memory_events import LeaseLost, LeaseNotRenewed, SnapshotFailed
from penstock.core.errors import UserMistake
from penstock.ports import BesideCheckpoint, Clock
from penstock.runtime.attempts import Attempts
from penstock.runtime.joblease import CheckpointLease
from penstock.stores.snapshot import newest_s, restore_snapshot, take_newer, take_snapshot

NAME = "history.db"
COPY = "history.copy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The history was restored from beside the checkpoint; `aside` is where the older local one is kept."""

    aside: Path | None


def restore_history(beside: BesideCheckpoint, history: Path) -> Restored | None:
    """Restore the history from beside the checkpoint if the local one is gone or older, as after a run elsewhere."""
    with on_its_way(history) as copy:
        if not beside.download(NAME, copy):
            return None
        try:
            if restore_snapshot(copy, history):
                return Restored(aside=None)
            ended_s = max(0.0, newest_s(history))
            aside = history.with_name(f"history-until-{datetime.fromtimestamp(ended_s, UTC):%Y%m%dT%H%M%SZ}.db")
            return Restored(aside=aside) if take_newer(copy, history, aside) else None
        except UserMistake as mistake:
            raise UserMistake(str(mistake).replace(str(copy), f"{NAME} beside the checkpoint")) from None


@contextmanager
def on_its_way(history: Path) -> Iterator[Path]:
    """Yield a path for a copy in transit: in the job's own folder, where the next copy replaces what a killed driver left."""
    copy = history.with_name(COPY)
    copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        yield copy
    finally:
        copy.unlink(missing_ok=True)


class Snapshots:
    """Takes snapshots at intervals, and renews the lease in time, however long a snapshot takes."""

    def __init__(
        self, *, beside: BesideCheckpoint, history: Path, lease: CheckpointLease, interval_s: float, clock: Clock,
        note: Callable[[Sequence[Event]], None], on_lost: Callable[[], None],
    ) -> None:  # fmt: skip
        self._beside = beside
        self._history = history
        self._lease = lease
        self._clock = clock
        self._note = note
        self._on_lost = on_lost
        self._attempts = Attempts()
        self._lost = False
        self._renewing = threading.Lock()
        self._sent: tuple[tuple[int, int], ...] = ()
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._repeat, args=args, name=f"penstock-{name}", daemon=True)
            for name, args in {"renewals": (lease.renewal_s, self._renew), "snapshots": (interval_s, self._take_if_ours)}.items()
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Take a last snapshot and release the lease, unless another driver has taken it."""
        self._stopping.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=60)
        self._take_if_ours()
        if not self._lost:
            self._attempt(self._lease.release, LeaseNotRenewed)

    def take(self) -> None:
        """Take a snapshot, unless nothing was written since the last one."""

        def copy() -> None:
            written = written_last(self._history)
            if written == self._sent:
                return
            with on_its_way(self._history) as target:
                take_snapshot(self._history, target)
                self._beside.upload(target, NAME)
            self._sent = written

        self._attempt(copy, SnapshotFailed)

    def _repeat(self, every_s: float, work: Callable[[], None]) -> None:
        while not self._stopping.wait(every_s):
            work()

    def _take_if_ours(self) -> None:
        self._renew()
        if not self._lost:
            self.take()

    def _renew(self) -> None:
        with self._renewing:
            if not self._lost:
                self._attempt(self._sign_again, LeaseNotRenewed)

    def _sign_again(self) -> None:
        other = self._lease.renew()
        if other is not None:
            self._lost = True
            self._note([LeaseLost(at_s=self._clock.now_s(), holder=other.words)])
            self._stopping.set()
            self._on_lost()

    def _attempt(self, work: Callable[[], None], failed: type[SnapshotFailed | LeaseNotRenewed]) -> None:
        """Do the work; report a failure once as the event `failed`, until it succeeds again."""
        self._attempts.attempt(failed.__name__, work, lambda error: self._note([failed(at_s=self._clock.now_s(), reason=" ".join(str(error).split())[:300])]))


def written_last(history: Path) -> tuple[tuple[int, int], ...]:
    """Return the modification times and sizes of the history's file and its write-ahead log."""
    files = [path.stat() for path in (history, history.with_name(history.name + "-wal")) if path.exists()]
    return tuple((each.st_mtime_ns, each.st_size) for each in files)
