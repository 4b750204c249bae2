import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from forked import penstock
from ledgers import positions_in
from waiting import wait_until

from penstock.remote import RemoteJob
from penstock.runtime.home import JobFolder
from penstock.spark.sink import count_rows, pages

SECRET = "s3cr3t-and-more"
JOB = """
name = "{name}"
master = "embedded"
checkpoint = "checkpoint"
limits = {{ min_executors = 1, max_executors = 2 }}
promises = {{ latency_p95 = "20s" }}
settings = {{ reading_interval_s = 1, reading_window_s = 4, snapshot_interval_s = 1 }}
sources.events = {{ format = "trace", rate = "constant(300)", partitions = 4 }}
queries.all_rows = {{ function = "job.py:all_rows", trigger = "1s", sink = {{ format = "ledger", path = "ledger" }} }}
[spark]
"spark.myapp.password" = "${{env:TEST_SECRET}}"
"""


class Cli:
    """Runs `penstock` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "TEST_SECRET": SECRET, "COLUMNS": "200"}

    def __call__(self, *arguments: str, code: int = 0, **environment: str) -> str:
        done = penstock(self.folder, {**self.environment, **environment}, *arguments)
        assert done.code == code, f"{arguments}: exit {done.code}\n{done.out}\n{done.err}"
        return done.out if code == 0 else done.err

    @contextmanager
    def running(self, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
        command = [sys.executable, "-m", "penstock", "run", *arguments]
        with open(self.folder / "out.log", "a") as log:
            process = subprocess.Popen(
                command, cwd=self.folder, env={**self.environment, **environment}, stdout=log, stderr=log, text=True, start_new_session=True
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    @property
    def printed(self) -> str:
        return (self.folder / "out.log").read_text()


@pytest.fixture
def cli(tmp_path: Path, cluster: Any) -> Cli:
    (tmp_path / "job.py").write_text("def all_rows(events):\n    return events\n")
    return Cli(tmp_path)


def state_of(job: str) -> dict[str, Any]:
    remote = RemoteJob(JobFolder(job).socket)
    return remote.ask("status") if remote.lives() else {"reading": None}


def keeps_up() -> bool:
    """Whether batches end well before the next is due, so that there is a pause in which to stop."""
    query = state_of("cli-job")["reading"]["queries"][0]
    return query["lag_s"] is not None and query["batch"] is not None and query["lag_s"] < 4 and query["batch"]["total_s"] < 1.5


def processes_of(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def steer_from_another_terminal(cli: Cli) -> None:
    assert "already runs" in cli("run", "job.toml", code=2)
    assert "done in" in cli("scale", "1", "--job", "cli-job", "--for", "2h")
    assert "done in" in cli("trigger", "2s", "--job", "cli-job")
    assert "done in" in cli("rate-limit", "500/s", "--job", "cli-job")
    assert "sends 100 rows/s" in cli("rate", "100/s", "--job", "cli-job")
    refused = cli("scale", "9", "--job", "cli-job", code=2)
    assert refused.count("\n") == 1 and "1 to 2 executors" in refused


def ask_metrics_and_health(metrics_url: str) -> None:
    with urllib.request.urlopen(metrics_url) as answer:
        assert 'penstock_executors_running{job="cli-job"}' in answer.read().decode()
    with urllib.request.urlopen(metrics_url.replace("/metrics", "/healthz")) as answer:
        assert answer.status == 200 and json.load(answer)["ok"]


def kill_after_a_snapshot(cli: Cli, driver: subprocess.Popen[bytes]) -> None:
    snapshot = cli.folder / "checkpoint/_penstock/history.db"
    wait_until(snapshot.exists, what="a snapshot beside the checkpoint")
    for _ in range(2):  # the first may have been begun before all was said
        before = snapshot.stat().st_mtime_ns
        wait_until(lambda before=before: snapshot.stat().st_mtime_ns > before, what="a snapshot that holds what was said above")
    children = processes_of(driver.pid)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    psutil.wait_procs(children, timeout=80)
    assert not [child for child in children if child.is_running() and child.status() != "zombie"], "a killed driver leaves no process behind"


def what_it_knew_is_back() -> None:
    state = state_of("cli-job")
    assert state["desired"]["executors"] == 1, "what the operator had set is desired again"
    assert {"executors", "trigger:all_rows", "rate-limit:all_rows"} == {hold["knob"] for hold in state["holds"]}
    query = state["reading"]["queries"][0]
    assert query["trigger"]["interval_s"] == 2 and query["rate_limit_rows_per_s"] == 500


def test_a_job_is_run_steered_killed_and_run_again_with_what_it_knew(cli: Cli, state_home: Path) -> None:
    (cli.folder / "job.toml").write_text(JOB.format(name="cli-job"))
    folder, ledger, temporary = state_home / "jobs" / "cli-job", cli.folder / "ledger", cli.folder / "temporary"
    temporary.mkdir()
    with cli.running("job.toml", TMPDIR=str(temporary)) as driver:
        wait_until(lambda: (state_of("cli-job")["reading"] or {}).get("throughput_rows_per_s"), 120, "the first batches")
        state = json.loads(cli("status", "--json", "--job", "cli-job"))
        assert state["reading"]["arrival_rows_per_s"] == pytest.approx(300, rel=0.2)
        assert "all_rows" in cli("status", "--job", "cli-job")
        steer_from_another_terminal(cli)
        ask_metrics_and_health(state["metrics"])
        kill_after_a_snapshot(cli, driver)

    assert json.loads(cli("history", "--job", "cli-job", "--json"))["readings"], "what a killed driver wrote can be read"
    for name in ("history.db", "history.db-wal", "history.db-shm"):
        (folder / name).unlink(missing_ok=True)

    with cli.running("job.toml", TMPDIR=str(temporary)) as driver:
        wait_until(lambda: (state_of("cli-job")["reading"] or {}).get("queries"), 120, "the driver and its query to be back")
        what_it_knew_is_back()
        batches = len(pages(ledger))
        wait_until(lambda: len(pages(ledger)) > batches + 1, what="further batches")
        assert "was released" in cli("release", "--job", "cli-job")
        wait_until(keeps_up, 60, "pauses between batches")
        driver.send_signal(signal.SIGTERM)
        assert driver.wait(240) == 0
    assert "no batch was interrupted" in cli.printed and "with the knowledge of its last run" in cli.printed
    assert positions_in(ledger) == list(range(count_rows(ledger))), "through a kill and restarts: none lost, none doubled"

    assert not list(temporary.iterdir()), "neither the driver that was killed nor the one that was stopped leaves a temporary file"

    assert "the same decisions, byte for byte" in cli("replay", "cli-job", "--verify"), "of both drivers, with what the operator said in between"
    exported = cli("history", "--job", "cli-job", "--csv", "csv", "--parquet", "parquet", "--plot", "run.png")
    assert "run.png" in exported and (cli.folder / "run.png").stat().st_size > 10_000
    written = [file for root in (folder, cli.folder) for file in root.rglob("*") if file.is_file() and file.name != "penstock.zip"]
    assert len(written) > 20 and not [file for file in written if SECRET.encode() in file.read_bytes()], "a secret appears nowhere"


@pytest.mark.long
def test_a_query_given_up_ends_the_job_with_its_own_traceback_and_a_second_ctrl_c_ends_at_once(cli: Cli) -> None:
    job = JOB.format(name="cli-broken").replace('master = "embedded"', 'master = "local[1]"')
    job = job.replace('format = "ledger", path = "ledger"', 'foreach_batch = "job.py:write"')
    (cli.folder / "job.py").write_text(f"def all_rows(events):\n    return events\n\ndef write(rows, batch_id):\n    raise KeyError('{SECRET}')\n")
    (cli.folder / "job.toml").write_text(job)
    with cli.running("job.toml") as driver:
        assert driver.wait(480) == 3
    assert "in write" in cli.printed and "KeyError: '***'" in cli.printed and "was given up" in cli.printed
    assert SECRET not in cli.printed

    (cli.folder / "out.log").write_text("")
    (cli.folder / "job.py").write_text("import time\n\ndef all_rows(events):\n    return events\n\ndef write(rows, batch_id):\n    time.sleep(90)\n")
    (cli.folder / "job.toml").write_text(job.replace("cli-broken", "cli-stuck").replace('"checkpoint"', '"checkpoint2"'))
    with cli.running("job.toml") as driver:
        wait_until(lambda: "started, trigger" in cli.printed, 90, "the start of the query")
        wait_until(lambda: ((state_of("cli-stuck")["reading"] or {}).get("lag_rows") or 0) > 500, what="a running batch")
        driver.send_signal(signal.SIGINT)
        time.sleep(2.0)
        assert driver.poll() is None, "the first Ctrl-C waits for the commit"
        asked = time.monotonic()
        driver.send_signal(signal.SIGINT)
        assert driver.wait(240) == 130
        assert time.monotonic() - asked < 30


def test_mistakes_end_with_one_line_and_exit_code_2(cli: Cli) -> None:
    good, rate = JOB.format(name="cli-wrong"), 'rate = "constant(300)"'
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        mistakes: list[tuple[tuple[str, str], str, dict[str, str]]] = [
            ((rate, 'csv = "missing.csv"'), "missing.csv", {}),
            ((rate, 'csv = "bad.csv"'), "line 3", {}),
            ((rate, 'csv = "negative.csv"'), "line 3", {}),
            ((rate, 'rate = "square(5)"'), "square", {}),
            (("job.py:all_rows", "job.py:nothing"), "no function 'nothing'", {}),
            (("job.py:all_rows", "gone.py:all_rows"), "gone.py", {}),
            (('"embedded"', f'"spark://127.0.0.1:{free_port()}"'), "does not answer", {}),
            (('master = "embedded"', ""), "none is named anywhere", {}),
            (('checkpoint = "checkpoint"', f'metrics = "127.0.0.1:{port}"'), str(port), {}),
            (("[spark]", '[spark]\n"spark.dynamicAllocation.enabled" = true'), "dynamic allocation", {}),
            (("max_executors = 2", "max_executors = 0"), "limits.max_executors: found 0", {}),
            (("env:TEST_SECRET", "env:NO_SUCH_VARIABLE"), "NO_SUCH_VARIABLE", {}),
            ((rate, rate), "Spark Connect", {"SPARK_REMOTE": "sc://somewhere"}),
            (('"embedded"', '"local[1]"'), "Java 17", {"JAVA_HOME": "/nonexistent"}),
        ]
        with ThreadPoolExecutor(2) as pool:
            running = [
                pool.submit(of_a_mistake, cli.folder / str(number), good, change, environment) for number, (change, _, environment) in enumerate(mistakes)
            ]
            for (_, expected, _), done in zip(mistakes, running, strict=True):
                line = done.result()
                assert line.count("\n") == 1 and line.startswith("penstock: ") and expected in line, line
    assert not list(cli.folder.glob("*/checkpoint")), "nothing was begun"


def of_a_mistake(folder: Path, good: str, change: tuple[str, str], environment: dict[str, str]) -> str:
    """What `penstock run` says of a good job with one thing changed, in a folder of its own."""
    folder.mkdir()
    (folder / "job.py").write_text("def all_rows(events):\n    return events\n")
    (folder / "bad.csv").write_text("t,rate\n0,100\n10,many\n")
    (folder / "negative.csv").write_text("t,rate\n0,100\n10,-5\n")
    (folder / "job.toml").write_text(good.replace("cli-wrong", f"cli-wrong-{folder.name}").replace(*change))
    return Cli(folder)("run", "job.toml", code=2, **environment)


@pytest.mark.long
def test_a_checkpoint_of_another_job_is_refused(cli: Cli) -> None:
    beside = cli.folder / "checkpoint" / "_penstock"
    beside.mkdir(parents=True)
    note = {"token": "x", "host": "elsewhere", "pid": 1, "born_s": 0.0, "renewed_s": 0.0, "job": "payments"}
    (beside / "lease.json").write_text(json.dumps(note))
    (cli.folder / "job.toml").write_text(JOB.format(name="cli-other").replace('"embedded"', '"local[1]"'))
    said = cli("run", "job.toml", code=2)
    assert said.count("\n") == 1 and "'payments'" in said
    assert json.loads((beside / "lease.json").read_text()) == note, "nothing of the other job was touched"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.long
def test_executors_whose_python_has_no_penstock_get_it_from_the_driver(cli: Cli) -> None:
    bare = cli.folder / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    libraries = next(path for path in sys.path if path.endswith("site-packages"))
    python = {"PYSPARK_PYTHON": str(bare / "bin/python"), "PYTHONPATH": libraries}
    alone = subprocess.run(
        [python["PYSPARK_PYTHON"], "-c", "import pyarrow, penstock"], env={"PYTHONPATH": libraries}, capture_output=True, text=True, check=False
    )
    assert "No module named 'penstock'" in alone.stderr
    (cli.folder / "job.toml").write_text(JOB.format(name="cli-bare").replace("[spark]", f'[spark]\n"spark.executorEnv.PYTHONPATH" = "{libraries}"'))
    with cli.running("job.toml", **python) as driver:
        wait_until(lambda: driver.poll() is not None or count_rows(cli.folder / "ledger") > 0, 120, "rows written by executors without Penstock")
        assert driver.poll() is None, cli.printed
        driver.send_signal(signal.SIGTERM)
        assert driver.wait(240) == 0


@pytest.mark.long
def test_spark_submit_gives_the_master_and_its_settings_win_over_penstocks_own(cli: Cli, cluster: Any) -> None:
    (cli.folder / "job.toml").write_text(JOB.format(name="cli-submitted").replace('master = "embedded"\n', ""))
    submit = Path(sys.executable).with_name("spark-submit")
    conf = ["--conf", "spark.executor.memory=700m", "--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.sql.session.timeZone=Asia/Tokyo"]
    entry = cli("entry").strip()
    done = subprocess.run(
        [str(submit), "--master", cluster.master, *conf, entry, "run", "job.toml", "--for", "12"],
        cwd=cli.folder, env={**cli.environment, "PYSPARK_PYTHON": sys.executable}, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert count_rows(cli.folder / "ledger") > 0
    assert f"runs on {cluster.master}" in done.stdout
    assert "/2" in cli("history", "--job", "cli-submitted"), "as many executors are asked for as the limits say"
    refused = subprocess.run(
        [str(submit), "--master", "local[1]", "--conf", "spark.dynamicAllocation.enabled=true", entry, "run", "job.toml"],
        cwd=cli.folder, env={**cli.environment, "PYSPARK_PYTHON": sys.executable}, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert refused.returncode == 2 and "dynamic allocation is on" in refused.stdout + refused.stderr


@pytest.mark.long
@pytest.mark.parametrize("to_all", [False, True])
def test_under_spark_submit_a_signal_to_its_jvm_or_to_all_its_processes_ends_the_job_in_order(cli: Cli, cluster: Any, to_all: bool) -> None:
    (cli.folder / "job.toml").write_text(JOB.format(name=f"cli-submit-stop-{int(to_all)}").replace('master = "embedded"\n', ""))
    command = [str(Path(sys.executable).with_name("spark-submit")), "--master", cluster.master, "--conf", "spark.driver.host=127.0.0.1"]
    with open(cli.folder / "out.log", "a") as log:
        submitted = subprocess.Popen(
            [*command, cli("entry").strip(), "run", "job.toml"],
            cwd=cli.folder, env={**cli.environment, "PYSPARK_PYTHON": sys.executable}, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        wait_until(lambda: submitted.poll() is not None or count_rows(cli.folder / "ledger") > 0, 150, "rows of a submitted job")
        assert submitted.poll() is None, cli.printed
        if to_all:
            os.killpg(submitted.pid, signal.SIGINT)
        else:
            submitted.send_signal(signal.SIGTERM)
        assert submitted.wait(360) == 0, cli.printed
    finally:
        if submitted.poll() is None:
            os.killpg(submitted.pid, signal.SIGKILL)
            submitted.wait()
    assert f"it was told to stop ({'SIGINT' if to_all else 'SIGTERM'})" in cli.printed
    lease = json.loads((cli.folder / "checkpoint/_penstock/lease.json").read_text())
    assert lease["renewed_s"] == 0, "Spark still lived when the lease was given back"
