import json
import sys
from pathlib import Path
from typing import Any

import pytest
from asked import found
from jobfiles import HALF_FULL, RIGHT, write
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.core.errors import UserMistake


def lines(path: Path) -> list[str]:
    """The mistakes as people get them, without the file's name before each."""
    with pytest.raises(UserMistake) as raised:
        CliRunner().invoke(app, ["validate", str(path)], catch_exceptions=False)
    said = str(raised.value).splitlines()
    assert all(line.startswith(f"{path}: ") for line in said)
    return [line.removeprefix(f"{path}: ") for line in said]


@pytest.fixture(autouse=True)
def job_py_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test has a job.py of its own."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "job", raising=False)


def test_a_job_that_is_right_is_summed_up(tmp_path: Path) -> None:
    path = write(tmp_path, 'mode = "shadow"\npolicy = "daedalus"\n[autopilot.parameters]\ngrace_s = "2m"', job='name = "clicks"\n' + RIGHT)
    assert found("validate", path) == {
        "file": str(path),
        "valid": True,
        "mistakes": [],
        "job": {
            "name": "clicks",
            "master": None,
            "queries": [{"name": "counted", "function": f"{tmp_path}/job.py:counted", "sources": ["clicks"], "trigger": "5s", "sink": "noop"}],
            "limits": {"min_executors": 2, "max_executors": 8, "start_executors": 8},
            "promises": {"latency_p95_s": None, "recovery_s": None},
            "mode": "shadow",
            "policy": "daedalus",
            "parameters": {"grace_s": 120.0},
        },
    }


def test_people_get_the_same_as_a_table(tmp_path: Path) -> None:
    path = write(tmp_path, job='name = "clicks"\nmaster = "embedded"\n[promises]\nlatency_p95 = "15s"\nrecovery = "2m"\n' + RIGHT)
    done = CliRunner().invoke(app, ["validate", str(path)], env={"COLUMNS": "200"}, catch_exceptions=False)
    assert done.exit_code == 0
    table = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert table == [
        f"{path} is valid", "job clicks on embedded", "query counted clicks -> noop, trigger 5s", "executors 2 to 8, 8 at the start",
        "promises latency p95 15s, recovery 2m", "autopilot observe, policy auto",
    ]  # fmt: skip


def test_validate_lists_all_mistakes(tmp_path: Path) -> None:
    """Those of single values, those between tables, and those in the code."""
    job = RIGHT.replace('format = "trace"', 'format = "trace"\nseed = -1').replace("job.py:counted", "job.py:count") + (
        '[promises]\nlatency_p95 = "4s"\nrecovery = "30s"\n'
        '[queries.other]\nfunction = "none.py:f"\nsources = ["clicks"]\ntriger = "5s"\n[queries.other.sink]\nformat = "noop"\n'
        '[settings]\nhold_s = "soon"\n'
    )
    path = write(tmp_path, 'mode = "activ"\npolicy = "dedalus"\nquota_executors = 1\nfallback_executors = 9\ndowntime = "30s"', job=job)
    assert lines(path) == [
        'queries.other.triger: unknown key, did you mean "trigger"?',
        'autopilot.mode: found "activ", one of "observe", "shadow", "ask", "active" is allowed',
        'settings.hold_s: found "soon", a number, or a duration such as "5s", from 1 to 2592000 seconds is allowed',
        f'queries.other.function: found "none.py:f", but there is no file {tmp_path}/none.py',
        'autopilot.policy: found "dedalus", there is no such policy; did you mean "daedalus"?',
        "autopilot.quota_executors: found 1, at least limits.min_executors (2) is allowed",
        "autopilot.fallback_executors: found 9, a whole number from limits.min_executors (2) to limits.max_executors (8) is allowed",
        'promises.recovery: found "30s", no number of executors can keep it: more than autopilot.downtime ("30s") is allowed',
        'promises.latency_p95: found "4s", no number of executors can keep it: at least queries.counted.trigger ("5s") is allowed',
        f"queries.counted.function: {tmp_path}/job.py has no function 'count'; there are: counted",
        "sources.clicks: trace: seed: found '-1', a whole number of at least 0 is allowed",
    ]


def test_machines_get_the_mistakes_too_with_exit_code_2(tmp_path: Path) -> None:
    path = write(tmp_path, 'mode = "activ"\nonly = "upp"')
    done = CliRunner().invoke(app, ["validate", str(path), "--json"], catch_exceptions=False)
    assert done.exit_code == 2
    answer: dict[str, Any] = json.loads(done.stdout)
    assert (answer["valid"], answer["job"], len(answer["mistakes"])) == (False, None, 2)


def test_a_mistake_is_not_followed_by_what_only_follows_from_it(tmp_path: Path) -> None:
    for right, wrong, said in (
        ('format = "trace"\n', "", 'sources.clicks.format: missing, a format such as "trace", "kafka" or "parquet" is needed'),
        ("[sources.clicks]", '[sources."cl icks"]', 'sources."cl icks": a name of at most'),
        ('function = "job.py:counted"\n', "", "queries.counted.function: missing, a function such as"),
        ('[queries.counted.sink]\nformat = "noop"', "[queries.counted.sink]\nformat = 5", "queries.counted.sink.format: found 5, a format such as"),
        ("max_executors = 8", "max_executors = 0", "limits.max_executors: found 0"),
        ('"job.py:counted"', '"${env:NOT_SET_ANYWHERE}"', "queries.counted.function: the environment variable NOT_SET_ANYWHERE is not set"),
        ('trigger = "5s"', 'trigger = { real_time = "1s" }', 'queries.counted.trigger: found { real_time = "1s" }, a batch duration of at least 5s is allowed'),
    ):
        [line] = lines(write(tmp_path, "fallback_executors = 7", job=RIGHT.replace(right, wrong)))
        assert line.startswith(said)


def test_what_is_no_job_file_at_all_is_one_line(tmp_path: Path) -> None:
    assert lines(tmp_path / "none.toml") == ['there is no such file; "penstock init" writes one to start from']
    (tmp_path / "job.toml").write_text("mode = ")
    [line] = lines(tmp_path / "job.toml")
    assert line.startswith("not valid TOML: ")
    done = CliRunner().invoke(app, ["validate", str(tmp_path / "job.toml"), "--json"], catch_exceptions=False)
    assert done.exit_code == 2 and len(json.loads(done.stdout)["mistakes"]) == 1


def test_an_error_in_the_users_own_module_is_one_line_with_its_place(tmp_path: Path) -> None:
    path = write(tmp_path)
    (tmp_path / "job.py").write_text("print('hello')\n\nundefined\n")
    assert lines(path) == [f"queries.counted.function: NameError: name 'undefined' is not defined ({tmp_path}/job.py, line 3)"]


def test_what_the_users_module_prints_or_needs_of_a_session_does_not_matter(tmp_path: Path) -> None:
    path = write(tmp_path)
    for code in ("print('hello')\n", 'from pyspark.sql.functions import udf\n@udf("string")\ndef f(x): ...\n'):
        (tmp_path / "job.py").write_text(code + "def counted(clicks): ...\n")
        assert found("validate", path)["valid"]


def test_a_policy_of_ones_own_is_loaded_and_its_parameters_are_checked(tmp_path: Path) -> None:
    (tmp_path / "validated_policy.py").write_text(HALF_FULL)
    own = 'policy = "validated_policy.py:HalfFull"\n[autopilot.parameters]\n'
    assert found("validate", write(tmp_path, f"{own}share = 0.7"))["job"]["policy"] == f"{tmp_path}/validated_policy.py:HalfFull"
    assert lines(write(tmp_path, f"{own}shar = 0.7")) == ['autopilot.parameters.shar: the policy HalfFull has no such parameter; did you mean "share"?']


def test_no_secret_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_SECRET", "hunter2")
    path = write(tmp_path, job=RIGHT.replace('rate = "constant(100)"', 'rate = "${env:TEST_SECRET}"'))
    assert "hunter2" not in "".join(lines(path))
    path = write(tmp_path, job='name = "${env:TEST_SECRET}"\n' + RIGHT)
    assert found("validate", path)["job"]["name"] == "***"
