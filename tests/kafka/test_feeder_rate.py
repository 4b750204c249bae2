"""The rate that is promised of a feeder, beside a job that reads what it sends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ASKED = 50_000


@pytest.mark.spark
@pytest.mark.long
def test_it_keeps_up_with_fifty_thousand_rows_a_second_beside_a_job(state_home: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "penstock", "selftest", "feeder", "--rate", str(ASKED), "--seconds", "20", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["beside_job"]["asked_rows_per_s"] == ASKED
    assert found["beside_job"]["reached_rows_per_s"] >= 0.99 * ASKED and found["job_rows_per_s"], found
