import os
import subprocess
import sys

import pytest

from penstock.selftest.speed import on_one_core


@pytest.mark.skipif(sys.platform != "linux", reason="only there a process can be kept to a core")
def test_commands_are_timed_on_one_core_and_only_they_are_kept_to_it() -> None:
    before = os.sched_getaffinity(0)
    with on_one_core():
        seen = subprocess.run([sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"], check=True, capture_output=True, text=True)
    assert seen.stdout.strip() == "1" and os.sched_getaffinity(0) == before
