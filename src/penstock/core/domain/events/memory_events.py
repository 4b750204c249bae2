"""History, snapshots and the lease."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.core.domain.events.event import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLost(Event):
    trouble: ClassVar[bool] = True
    reason: str

    def words(self) -> str:
        return f"the history cannot be written ({self.reason}); the job and its observation go on"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRegained(Event):
    forgotten: int

    def words(self) -> str:
        return f"the history is written again; {self.forgotten} rows were lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFailed(Event):
    trouble: ClassVar[bool] = True
    reason: str

    def words(self) -> str:
        return f"no snapshot of the history beside the checkpoint: {self.reason}; it is retried later"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseNotRenewed(Event):
    """The lease file could not be written, to renew or to release the lease."""

    trouble: ClassVar[bool] = True
    reason: str

    def words(self) -> str:
        return f"the lease beside the checkpoint could not be written: {self.reason}; it runs out unless a later try succeeds"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryReplaced(Event):
    """At the start, the history beside the checkpoint is newer than the local one, which is kept at `aside`."""

    aside: str

    def words(self) -> str:
        return f"the history beside the checkpoint is newer than the one here, as the job ran elsewhere: it is used; the local one is kept as {self.aside}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseLost(Event):
    trouble: ClassVar[bool] = True
    holder: str

    def words(self) -> str:
        return f"{self.holder} has taken over this job: this driver stops"
