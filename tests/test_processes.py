import os
import subprocess
import sys
import time

import psutil

from penstock.processes import die_with_parent, end_process

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
PARENT = """
import subprocess, sys
from penstock.processes import die_with_parent
child = subprocess.Popen(["sleep", "60"], preexec_fn=die_with_parent)
print(child.pid, flush=True)
sys.stdin.read()
"""


def test_a_child_is_ended_politely_and_one_that_will_not_go_is_made_to() -> None:
    with subprocess.Popen(["sleep", "60"], preexec_fn=die_with_parent) as child:
        end_process(child)
        assert child.returncode == -15
        end_process(child)
    with subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"up\n"
        end_process(child, grace_s=0.1)
        assert child.returncode == -9


def test_a_child_does_not_outlive_its_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert psutil.pid_exists(pid)
        parent.kill()
        parent.wait(30)
    deadline = time.monotonic() + 5
    while lives(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not lives(pid)


def lives(pid: int) -> bool:
    """A zombie that was not waited for is dead."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE and os.getpid() != pid
    except psutil.NoSuchProcess:
        return False
