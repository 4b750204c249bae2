import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from penstock.kafka.topics import end_offsets, partitions_of

pytestmark = pytest.mark.spark

BAD = """
name = "cannot"
master = "local[2]"
source = { format = "trace", rate = "constant(10)" }
query = { function = "job.py:upper", trigger = { real_time = "5s" } }
sink = { format = "noop" }
"""
CODE = """
from pyspark.sql import functions as F

@F.udf("string")
def loud(text):
    return text.upper()

def upper(rows):
    return rows.select(loud("key").alias("key"))
"""


def penstock(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", *arguments]
    return subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=480, check=False)


def test_a_broker_by_hand_makes_its_topics_and_leaves_nothing(tmp_path: Path, state_home: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-m", "penstock", "kafka", "--topic", "clicks:3"], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    said = process.stdout.readline()
    bootstrap = said.partition("kafka.bootstrap.servers=")[2].split()[0]
    children = psutil.Process(process.pid).children(recursive=True)
    assert partitions_of({"bootstrap.servers": bootstrap})["clicks"] == 3
    process.send_signal(signal.SIGINT)
    assert process.wait(240) == 0
    assert not any(child.is_running() for child in children) and not list(tmp_path.iterdir())


def test_a_feeder_by_hand_ends_after_its_rows_and_its_rate_can_be_changed(broker: Any, tmp_path: Path) -> None:
    name = f"hand-{time.time_ns()}"
    command = ["kafka", "feed", f"{name}:2", "--bootstrap", broker.bootstrap, "--rate", "constant(5)", "--rows-in-all", "400", "--state", "state", "--json"]
    process = subprocess.Popen([sys.executable, "-m", "penstock", *command], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["topic"] == name
    changed = penstock("kafka", "rate", "2000/s", "--state", "state", folder=tmp_path)
    assert changed.returncode == 0, changed.stderr
    assert process.wait(240) == 0
    assert sum(end_offsets({"bootstrap.servers": broker.bootstrap}, name, 2)) == 400


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("kafka", "--topic", "clicks"), "--topic: found 'clicks', a name and a number of partitions such as clicks:4 is allowed"),
        (("kafka", "feed", "a:0", "--bootstrap", "127.0.0.1:1", "--rate", "constant(5)"), "--topic: found 'a:0'"),
        (("kafka", "feed", "a", "--bootstrap", "127.0.0.1:1"), "trace: give either rate"),
        (
            ("kafka", "feed", "a", "--bootstrap", "127.0.0.1:1", "--rate", "constant(5)", "--option", "sasl.jaas.config=${env:NO_SUCH_SECRET}"),
            "--option sasl.jaas.config: the environment variable NO_SUCH_SECRET is not set",
        ),
        (("kafka", "rate", "5/s", "--state", "nowhere"), "--state: there is no state of a feeder in nowhere"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(arguments: tuple[str, ...], said: str, tmp_path: Path, state_home: Path) -> None:
    done = penstock(*arguments, folder=tmp_path, TMPDIR=str(tmp_path))
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1, done
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_all_that_real_time_mode_does_not_allow_is_said_before_the_start(tmp_path: Path, state_home: Path) -> None:
    (tmp_path / "job.toml").write_text(BAD)
    (tmp_path / "job.py").write_text(CODE)
    done = penstock("run", "job.toml", "--plain", folder=tmp_path)
    lines = [line for line in done.stderr.splitlines() if "cannot run in Real-Time Mode" in line]
    assert done.returncode == 2 and len(lines) == 4, done.stderr
    for part in ('its source has the format "trace"', 'its sink is "noop"', 'its output_mode is "append"', "its plan has a Python operator"):
        assert any(part in line for line in lines)
