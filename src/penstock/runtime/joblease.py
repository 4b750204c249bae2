"""One controller per job: a locked file on this machine, and a lease file beside the checkpoint, renewed in time, for other machines."""

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
    """Take the lease on this machine; it is held until this process ends, even if it is killed."""
    try:
        return FileLease(folder.lease)
    except BlockingIOError:
        raise UserMistake(
            f"job {folder.name!r} already runs on this machine; steer it with `penstock status --job {folder.name}`, or stop that one first"
        ) from None
    except OSError as error:
        raise UserMistake(f"the lease {folder.lease} cannot be taken: {error.strerror}; set PENSTOCK_HOME to a folder that can be written") from None


def processes_here() -> str:
    """Return the boot and the process namespace: process ids mean the same where both are equal."""
    try:
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The holder of a job; `renewed_s` is wall time, compared across machines only with the expiry. `processes` says where its process id is valid."""

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
        """Return whether this process can see the holder's: containers may share a host name, but not processes."""
        return self.host == socket.gethostname() and (self.processes or processes_here()) == processes_here()

    def lives_here(self) -> bool:
        try:
            return self.is_here() and abs(psutil.Process(self.pid).create_time() - self.born_s) < 1
        except psutil.Error:
            return False


class CheckpointLease:
    """The lease beside the checkpoint.

    `signature` is a file in the job's own folder, of which this process holds the lease: a holder with the token in it has ended, even before a reboot.
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
        """The interval of renewals: two may fail before others take this driver for dead."""
        return self._expiry_s / 3

    def take(self) -> None:
        """Take the lease; raise if another driver holds or may hold it, or the checkpoint belongs to another job."""
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
        """Renew the lease; return the other holder if it was taken over."""
        holder = self.holder()
        if holder is not None and holder.token != self._me.token:
            return holder
        self._sign(time.time())
        return None

    def release(self) -> None:
        """Give up the lease; the file stays and says whose checkpoint this is."""
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
