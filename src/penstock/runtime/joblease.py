"""One controller a job: a locked file on this machine, and a signed, renewed note beside the checkpoint for all others."""

from __future__ import annotations

import json
import os
import socket
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from penstock.core.errors import UserMistake
from penstock.leases import FileLease
from penstock.ports import BesideCheckpoint
from penstock.runtime.home import JobFolder

NOTE = "lease.json"


def take_local(folder: JobFolder) -> FileLease:
    """The lease on this machine; held until this process ends, however it ends."""
    try:
        return FileLease(folder.lease)
    except BlockingIOError:
        raise UserMistake(
            f"job {folder.name!r} already runs on this machine; steer it with `penstock status --job {folder.name}`, or stop that one first"
        ) from None
    except OSError as error:
        raise UserMistake(f"the lease {folder.lease} cannot be taken: {error.strerror}; set PENSTOCK_HOME to a folder that can be written") from None


def processes_here() -> str:
    """What tells the processes that this one can see from those of other machines and containers: this boot, and the namespace of process ids."""
    try:
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a job: `renewed_s` is wall time, compared across machines only by the expiry. `processes` is where its process id means something."""

    token: str
    host: str
    pid: int
    born_s: float
    renewed_s: float
    job: str
    processes: str = ""

    @property
    def words(self) -> str:
        return f"the driver with process id {self.pid} on {self.host}"

    def is_here(self) -> bool:
        """Whether this process could see that one: containers may share a name, but not their processes."""
        return self.host == socket.gethostname() and (self.processes or processes_here()) == processes_here()

    def lives_here(self) -> bool:
        try:
            return self.is_here() and abs(psutil.Process(self.pid).create_time() - self.born_s) < 1
        except psutil.Error:
            return False


class CheckpointLease:
    """The note beside the checkpoint.

    `signature` is a file of the job's own folder, whose lease is held: who signed as it says has ended, also if the machine was started anew since.
    """

    def __init__(self, beside: BesideCheckpoint, job: str, expiry_s: float, signature: Path | None = None) -> None:
        self._beside = beside
        self._signature = signature
        self._expiry_s = expiry_s
        me = psutil.Process()
        self._me = Holder(
            token=uuid.uuid4().hex, host=socket.gethostname(), pid=os.getpid(), born_s=me.create_time(), renewed_s=time.time(), job=job,
            processes=processes_here(),
        )  # fmt: skip

    @property
    def renewal_s(self) -> float:
        """How often to renew it: two renewals may fail before others take this driver for dead."""
        return self._expiry_s / 3

    def take(self) -> None:
        """Sign the note, or raise: somebody else lives, or may live, on the same checkpoint, or it is another job's."""
        holder = self.holder()
        if holder is not None and holder.job != self._me.job:
            raise UserMistake(f"checkpoint: it belongs to the job {holder.job!r}, this one is {self._me.job!r}; give this one another checkpoint, or that name")
        if holder is not None and holder.renewed_s > 0 and holder.token not in (self._me.token, self._signed_before()):
            age_s = time.time() - holder.renewed_s
            elsewhere = not holder.is_here() and age_s < self._expiry_s
            if elsewhere or holder.lives_here():
                raise UserMistake(
                    f"{holder.words} runs this job (heard {age_s:.0f} s ago): stop it first, or wait until its lease of {self._expiry_s:.0f} s has run out"
                )
        self._sign(time.time())
        if self._signature is not None:
            self._signature.write_text(self._me.token)

    def _signed_before(self) -> str | None:
        return self._signature.read_text() if self._signature is not None and self._signature.exists() else None

    def renew(self) -> Holder | None:
        """Sign again; the other one if somebody else has signed meanwhile."""
        holder = self.holder()
        if holder is not None and holder.token != self._me.token:
            return holder
        self._sign(time.time())
        return None

    def release(self) -> None:
        """Leave the note, which says whose checkpoint this is, but without a claim."""
        holder = self.holder()
        if holder is None or holder.token == self._me.token:
            self._sign(0.0)

    def holder(self) -> Holder | None:
        content = self._beside.read(NOTE)
        if content is None:
            return None
        try:
            return Holder(**json.loads(content))
        except (ValueError, TypeError):
            return None

    def _sign(self, renewed_s: float) -> None:
        self._beside.write(NOTE, json.dumps({**asdict(self._me), "renewed_s": renewed_s}).encode())
