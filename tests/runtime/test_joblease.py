import json
import os
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from penstock.core.errors import UserMistake
from penstock.leases import is_held
from penstock.runtime.fakes import FolderBeside
from penstock.runtime.home import JobFolder
from penstock.runtime.joblease import NOTE, CheckpointLease, take_local

EXPIRY_S = 100.0


@pytest.fixture
def beside(tmp_path: Path) -> FolderBeside:
    return FolderBeside(tmp_path / "_penstock")


def lease(beside: FolderBeside, job: str = "job") -> CheckpointLease:
    return CheckpointLease(beside, job, EXPIRY_S)


def leave_note(beside: FolderBeside, **changed: Any) -> None:
    """As another driver would have signed it just now."""
    note = {"token": "other", "host": "elsewhere", "pid": 77, "born_s": 0.0, "renewed_s": time.time(), "job": "job"}
    beside.write(NOTE, json.dumps({**note, **changed}).encode())


def mine_now(beside: FolderBeside) -> bool:
    """Take the lease; whether its note then names this process."""
    taken = lease(beside)
    taken.take()
    holder = taken.holder()
    return holder is not None and (holder.host, holder.pid, holder.lives_here()) == (socket.gethostname(), os.getpid(), True)


def here() -> dict[str, Any]:
    return {"host": socket.gethostname(), "pid": os.getpid(), "born_s": psutil.Process().create_time()}


def test_a_second_controller_on_this_machine_is_refused_in_one_line(tmp_path: Path) -> None:
    folder = JobFolder("orders", tmp_path).create()
    refused = r"^job 'orders' already runs on this machine; steer it with `penstock status --job orders`, or stop that one first$"
    with take_local(folder), pytest.raises(UserMistake, match=refused):
        take_local(folder)
    with take_local(folder):
        assert is_held(folder.lease), "once the first has gone, the next one holds it"


def test_a_lease_that_cannot_be_written_is_one_line_too(tmp_path: Path) -> None:
    folder = JobFolder("orders", tmp_path).create()
    folder.lease.mkdir()
    with pytest.raises(UserMistake, match=r"lease cannot be taken: Is a directory; set PENSTOCK_HOME to a folder that can be written$"):
        take_local(folder)


def test_a_fresh_checkpoint_is_signed_and_renewed_by_its_driver(beside: FolderBeside) -> None:
    mine = lease(beside)
    assert mine.holder() is None
    mine.take()
    holder = mine.holder()
    assert holder is not None and (holder.host, holder.pid, holder.job) == (socket.gethostname(), os.getpid(), "job") and holder.lives_here()
    mine.take()
    assert mine.renew() is None and 2 * mine.renewal_s < EXPIRY_S, "two renewals may fail before the lease runs out"
    renewed = mine.holder()
    assert renewed is not None and renewed.renewed_s >= holder.renewed_s
    mine.release()
    assert mine_now(beside), "a released lease is free at once"


def test_a_driver_on_another_machine_that_was_heard_of_lately_is_left_alone(beside: FolderBeside) -> None:
    leave_note(beside, renewed_s=time.time() - 0.9 * EXPIRY_S)
    with pytest.raises(
        UserMistake,
        match=r"^the driver with process id 77 on elsewhere runs this job \(heard 90 s ago\): stop it first, or wait until its lease of 100 s has run out$",
    ):
        lease(beside).take()


def test_a_driver_that_lives_on_this_machine_is_left_alone_however_long_it_is_silent(beside: FolderBeside) -> None:
    leave_note(beside, **here(), renewed_s=time.time() - 100 * EXPIRY_S)
    with pytest.raises(UserMistake, match="runs this job"):
        lease(beside).take()


def test_a_driver_that_is_gone_is_followed_at_once(beside: FolderBeside) -> None:
    with subprocess.Popen(["true"]) as dead:
        dead.wait(30)
    for note in (
        {"renewed_s": time.time() - 1.1 * EXPIRY_S},  # silent for too long
        {"host": socket.gethostname(), "pid": dead.pid},  # it died on this machine
        {**here(), "born_s": here()["born_s"] - 500},  # another process has its process id
        {"host": socket.gethostname(), "pid": 2**22 + 1},  # no such process; a note that does not tell containers apart
    ):
        leave_note(beside, **note)
        assert mine_now(beside), note


def test_the_checkpoint_of_another_job_is_refused_even_after_its_end(beside: FolderBeside) -> None:
    other = lease(beside, "invoices")
    other.take()
    other.release()
    with pytest.raises(
        UserMistake, match=r"^checkpoint: it belongs to the job 'invoices', this one is 'orders'; give this one another checkpoint, or that name$"
    ):
        lease(beside, "orders").take()


def test_a_renewal_notices_who_has_taken_over_and_does_not_take_back(beside: FolderBeside) -> None:
    mine = lease(beside)
    mine.take()
    leave_note(beside)
    thief = mine.renew()
    assert thief is not None and thief.words == "the driver with process id 77 on elsewhere"
    mine.release()
    left = mine.holder()
    assert left is not None and left.token == "other" and left.renewed_s > 0


@pytest.mark.parametrize("note", [b"", b"{", b"[]", b'{"token": 1}', b"\xff"])
def test_a_note_that_cannot_be_read_blocks_no_driver(beside: FolderBeside, note: bytes) -> None:
    beside.write(NOTE, note)
    mine = lease(beside)
    mine.take()
    assert mine.renew() is None


def test_a_driver_in_another_container_of_the_same_name_is_not_taken_for_dead(beside: FolderBeside) -> None:
    leave_note(beside, host=socket.gethostname(), pid=1, processes="another-boot pid:[4026531836]")
    with pytest.raises(UserMistake, match=r"^the driver with process id 1 on .* runs this job"):
        lease(beside).take()
    leave_note(beside, host=socket.gethostname(), pid=1, processes="another-boot pid:[4026531836]", renewed_s=time.time() - 2 * EXPIRY_S)
    assert mine_now(beside)


def test_a_driver_from_the_same_folder_has_ended_even_if_the_machine_was_started_anew_since(beside: FolderBeside, tmp_path: Path) -> None:
    def from_folder(name: str) -> CheckpointLease:
        return CheckpointLease(beside, "job", EXPIRY_S, tmp_path / name)

    from_folder("here").take()
    leave_note(beside, **{**json.loads(beside.read(NOTE) or b""), "processes": "the boot before pid:[4026531836]"})
    with pytest.raises(UserMistake, match="runs this job"):
        from_folder("there").take()
    from_folder("here").take()
