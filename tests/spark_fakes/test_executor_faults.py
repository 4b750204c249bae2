import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest
from waiting import wait_until

from penstock.core.domain.fault import Fault
from penstock.core.errors import NotReachable, UserMistake
from penstock.runtime.steady_clock import SteadyClock
from penstock.spark.cpu import BACKEND
from penstock.spark.executor_faults import ExecutorFaults, freezing

APPLICATION = "app-of-this-test"
EXPERIMENTER = (
    "from penstock.spark.executor_faults import freezing; import sys, time; held = freezing(int(sys.argv[1]), None); print(flush=True); time.sleep(99)"
)


@pytest.fixture
def executors() -> Iterator[list[subprocess.Popen[bytes]]]:
    line = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)", BACKEND]
    names = [(APPLICATION, "10"), (APPLICATION, "9"), ("another", "1")]
    made = [subprocess.Popen([*line, app, "--executor-id", each], stdout=subprocess.PIPE) for app, each in names]
    for process in made:
        assert process.stdout is not None and process.stdout.readline()
    yield made
    for process in made:
        process.kill()
        process.communicate()


def test_the_oldest_executor_of_the_application_is_struck(executors: list[subprocess.Popen[bytes]]) -> None:
    faults = ExecutorFaults(APPLICATION, SteadyClock())
    assert faults.inject(Fault(kind="kill")).executor_id == "9"
    assert executors[1].wait(10) == -signal.SIGKILL
    assert faults.inject(Fault(kind="kill")).executor_id == "10"
    assert executors[0].wait(10) == -signal.SIGKILL and executors[2].poll() is None
    with pytest.raises(NotReachable):
        faults.inject(Fault(kind="kill"))


def test_a_frozen_executor_goes_on_when_undone_or_after_its_duration(executors: list[subprocess.Popen[bytes]]) -> None:
    faults, process = ExecutorFaults(APPLICATION, SteadyClock()), psutil.Process(executors[1].pid)
    frozen = faults.inject(Fault(kind="freeze"))
    wait_until(lambda: process.status() == psutil.STATUS_STOPPED)
    assert faults.inject(Fault(kind="freeze", duration_s=0.2)).executor_id == "10", "one that is frozen is not struck again"
    wait_until(lambda: psutil.Process(executors[0].pid).status() == psutil.STATUS_SLEEPING)
    assert process.status() == psutil.STATUS_STOPPED
    for _ in range(2):
        faults.undo(frozen)
    wait_until(lambda: process.status() == psutil.STATUS_SLEEPING)


def test_a_query_cannot_be_made_to_fail() -> None:
    with pytest.raises(UserMistake, match="kill or freeze"):
        ExecutorFaults(APPLICATION, SteadyClock()).inject(Fault(kind="restart"))


def test_a_freeze_ends_with_an_experimenter_that_is_killed_and_is_refused_for_a_process_that_is_gone(executors: list[subprocess.Popen[bytes]]) -> None:
    process = psutil.Process(executors[0].pid)
    with subprocess.Popen([sys.executable, "-c", EXPERIMENTER, str(process.pid)], stdout=subprocess.PIPE) as experimenter:
        assert experimenter.stdout is not None and experimenter.stdout.readline()
        frozen = process.status()
        experimenter.kill()
    assert frozen == psutil.STATUS_STOPPED
    wait_until(lambda: process.status() == psutil.STATUS_SLEEPING)
    executors[0].kill()
    wait_until(lambda: process.status() == psutil.STATUS_ZOMBIE)
    for _ in range(2):
        with pytest.raises(NotReachable, match="before it could be frozen"):
            freezing(process.pid, None)
        executors[0].wait(10)
