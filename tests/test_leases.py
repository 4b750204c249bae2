import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from penstock.leases import FileLease, is_held

HOLD = """
import pathlib, sys, time
from penstock.leases import FileLease
lease = FileLease(pathlib.Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_a_lease_is_held_by_one_until_it_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "state" / "lease"
    assert not is_held(path) and not path.exists()
    first = FileLease(path)
    assert is_held(path)
    with pytest.raises(BlockingIOError):
        FileLease(path)
    first.close()
    first.close()
    assert not is_held(path) and path.exists()
    FileLease(path).close(remove=True)
    assert not path.exists()


def test_only_its_owner_may_touch_it(tmp_path: Path) -> None:
    path = tmp_path / "state" / "lease"
    with FileLease(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_one_who_waits_gets_it_when_the_other_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    got = threading.Event()

    def wait() -> None:
        with FileLease(path, wait=True):
            got.set()

    with FileLease(path):
        waiter = threading.Thread(target=wait)
        waiter.start()
        assert not got.wait(0.05)
    waiter.join(5)
    assert got.is_set()


def test_it_dies_with_a_holder_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        assert is_held(path)
        holder.send_signal(signal.SIGKILL)
        holder.wait(30)
    assert not is_held(path)
