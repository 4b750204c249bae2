import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest
from waiting import wait_until

from penstock.core.errors import NotReachable
from penstock.spark.executor_faults import freezing

EXPERIMENTER = (
    "from penstock.spark.executor_faults import freezing; import sys, time; held = freezing(int(sys.argv[1]), None); print(flush=True); time.sleep(600)"
)


@pytest.fixture
def executor() -> Iterator[psutil.Process]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield psutil.Process(process.pid)
        process.kill()


def runs(process: psutil.Process) -> bool:
    return process.status() != psutil.STATUS_STOPPED


def test_a_freeze_ends_with_an_experimenter_that_is_killed(executor: psutil.Process) -> None:
    with subprocess.Popen([sys.executable, "-c", EXPERIMENTER, str(executor.pid)], stdout=subprocess.PIPE) as experimenter:
        assert experimenter.stdout is not None and experimenter.stdout.readline() and not runs(executor)
        experimenter.send_signal(signal.SIGKILL)
    wait_until(lambda: runs(executor), 10, "the frozen process goes on")


def test_a_freeze_ends_after_its_duration_and_is_refused_for_a_process_that_is_gone(executor: psutil.Process) -> None:
    freezer = freezing(executor.pid, 0.2)
    freezer.wait(10)
    assert runs(executor)
    executor.kill()
    executor.wait(10)
    with pytest.raises(NotReachable, match="before it could be frozen"):
        freezing(executor.pid, None)
