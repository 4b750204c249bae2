import json
from pathlib import Path

import pytest
from asked import drawn, found, mistake, table, written
from typer.testing import CliRunner

from penstock.cli import simulate_options
from penstock.cli.app import app
from penstock.core.policies.registry import POLICIES

KEYS = {
    "policy", "engine", "duration_s", "worker_seconds", "average_workers", "rescales", "latency_ms", "within_latency", "failures",
    "violation_s", "profiling_worker_seconds", "seed", "waiting_rows", "oldest_waiting_s", "notes",
}  # fmt: skip


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Half an hour in which 15,000 rows/s become 25,000 and fewer again."""
    return written(tmp_path / "trace.csv", "t,rate\n0,15000\n600,15000\n900,25000\n1200,25000\n1500,15000\n1800,15000\n")


def test_the_json_has_every_key_of_the_issue(trace: Path) -> None:
    answer = found(
        "simulate", "--trace", trace, "--policy", "static", "--engine", "continuous", "--capacity-per-worker", 5000, "--max-scaleout", 12,
        "--start-scaleout", 8, "--downtime", 30, "--interval", 10, "--target-recovery", 600, "--failures", "700,1600", "--promise-latency-ms", 1000,
    )  # fmt: skip
    assert set(answer) == KEYS and set(answer["latency_ms"]) == {"mean", "p50", "p95", "p99"}
    assert (answer["policy"], answer["engine"], answer["duration_s"], answer["seed"]) == ("static", "continuous", 1800, 0)
    assert (answer["worker_seconds"], answer["average_workers"], answer["rescales"]) == (pytest.approx(8 * 1800), pytest.approx(8), 0)
    assert [set(failure) for failure in answer["failures"]] == [{"at_s", "predicted_s", "measured_s"}] * 2
    assert [failure["at_s"] for failure in answer["failures"]] == [700, 1600]
    assert all(30 < failure["measured_s"] < 200 for failure in answer["failures"])
    assert 0.5 < answer["within_latency"] < 1.0, "rows waited through two failures"
    assert answer["latency_ms"]["p50"] < 1000 < answer["latency_ms"]["p99"] and answer["violation_s"] > 60


def test_what_was_not_promised_is_null_and_what_did_not_happen_is_empty(trace: Path) -> None:
    answer = found("simulate", "--trace", trace, "--policy", "static")
    assert answer["within_latency"] is None and answer["failures"] == [] and answer["violation_s"] == 0
    assert answer["profiling_worker_seconds"] is None


def test_failures_that_are_noticed_late_and_recoveries_beyond_their_target_are_told(trace: Path) -> None:
    asked = ("simulate", "--trace", trace, "--policy", "static", "--start-scaleout", 6, "--failures", 700)
    kept, broken = (found(*asked, "--target-recovery", seconds)["violation_s"] for seconds in (600, 40))
    assert kept == 0 < broken
    asked = ("simulate", "--trace", trace, "--policy", "static", "--failures", 300)
    at_once, late = (found(*asked, *more)["failures"][0]["measured_s"] for more in ((), ("--timeout-failures", 20)))
    assert late > at_once + 20


@pytest.mark.parametrize("policy", ["static", "daedalus"])
@pytest.mark.parametrize(("rate", "more", "beyond"), [(20000, (), 1.6), (20000, ("--timeout-failures", 20), 1.5), (21000, ("--engine", "micro-batch"), 1.5)])
def test_a_failure_is_predicted_by_what_it_costs_this_engine(tmp_path: Path, policy: str, rate: int, more: tuple[object, ...], beyond: float) -> None:
    """The downtime of a restart is nothing to micro-batches, which try lost tasks again, and no restart begins before a failure is noticed.

    At 20,000 rows/s in micro-batches four and five executors are nearly a tie: which one is chosen depends on the last digits of a forecast.
    """
    path = written(tmp_path / "steady.csv", f"t,rate\n0,{rate}\n2700,{rate}\n")
    failures = found("simulate", "--trace", path, "--policy", policy, "--downtime", 30, "--target-recovery", 600, "--failures", "1203,2103", *more)["failures"]
    assert all(1 / beyond < each["predicted_s"] / each["measured_s"] < beyond for each in failures), failures


def test_targets_that_no_number_of_executors_can_meet_are_named_at_the_start(trace: Path) -> None:
    asked = ("simulate", "--trace", trace, "--policy", "static", "--target-recovery", 10, "--downtime", 30)
    note = "from 15 s on no number of executors can keep the promised recovery time: 10 s are promised, the downtime alone is 30 s"
    assert found(*asked)["notes"] == [note] and found(*asked[:-2], "--downtime", 5)["notes"] == []
    answered = CliRunner().invoke(app, [str(each) for each in asked])
    assert "no number of executors can keep the promised recovery time" in " ".join(answered.output.split())


def test_rows_that_wait_at_the_end_are_counted_as_late(tmp_path: Path) -> None:
    """70,000 rows/s are more than 12 workers carry; fewer of them finish fewer rows, and must not look better for it."""
    path = written(tmp_path / "over.csv", "t,rate\n0,70000\n600,70000\n")
    asked = ("simulate", "--trace", path, "--policy", "static", "--promise-latency-ms", 5000)
    many, few = (found(*asked, "--max-scaleout", most) for most in (12, 4))
    assert 0 < many["waiting_rows"] < few["waiting_rows"] and many["oldest_waiting_s"] < few["oldest_waiting_s"] < 600
    assert many["latency_ms"]["mean"] < few["latency_ms"]["mean"] and few["within_latency"] < many["within_latency"] < 0.1


def test_micro_batches_take_their_own_options(trace: Path) -> None:
    answer = found(
        "simulate", "--trace", trace, "--policy", "static", "--engine", "micro-batch", "--trigger", 4, "--overhead", 0.4, "--row-cost-us", 150,
        "--partitions", 12, "--cores", 1, "--max-scaleout", 6,
    )  # fmt: skip
    assert answer["engine"] == "micro-batch" and answer["average_workers"] == pytest.approx(6)
    assert 1000 < answer["latency_ms"]["p50"] < 10_000, "half a trigger and a batch"


def test_a_cheaper_row_is_a_quicker_job_and_a_parameter_of_the_policy_is_taken(trace: Path) -> None:
    asked = ("simulate", "--trace", trace, "--policy", "static", "--engine", "micro-batch", "--max-scaleout", 6)
    slow, quick = (found(*asked, "--capacity-per-worker", each)["latency_ms"]["p95"] for each in (6000, 12_000))
    assert quick < slow
    assert found("simulate", "--trace", trace, "--policy", "static", "--param", "executors=5")["average_workers"] == 5.0


@pytest.mark.usefixtures("few")
def test_all_policies_are_shown_side_by_side(trace: Path) -> None:
    asked = ["simulate", "--trace", str(trace), "--policy", "all", "--failures", "700"]
    both = found(*asked)["policies"]
    assert [each["policy"] for each in both] == ["static", "hpa"] and all(set(each) == KEYS for each in both)
    assert both[1]["worker_seconds"] < both[0]["worker_seconds"]
    shown = CliRunner(env={"COLUMNS": "160"}).invoke(app, asked, catch_exceptions=False).stdout
    assert "2 policies on trace.csv" in shown and "longest recovery" in shown
    assert [line.split()[0] for line in shown.splitlines()[-2:]] == ["static", "hpa"]


def test_variants_of_a_policy_stand_side_by_side_by_their_labels(trace: Path) -> None:
    both = found("simulate", "--trace", trace, "--policy", "static(4), static(executors=8)")["policies"]
    assert [each["policy"] for each in both] == ["static(4)", "static(executors=8)"]
    assert [each["average_workers"] for each in both] == [4.0, 8.0] and not any(each["rescales"] for each in both)


def test_a_label_and_a_parameter_are_the_same_run(trace: Path) -> None:
    labelled, named = (
        found("simulate", "--trace", trace, "--policy", "hpa(60)"),
        found("simulate", "--trace", trace, "--policy", "hpa", "--param", "target=0.6"),
    )
    assert {**labelled, "policy": "hpa"} == named and labelled["rescales"] > 0


def test_people_get_a_table_that_says_the_same(trace: Path) -> None:
    asked = ["simulate", "--trace", str(trace), "--policy", "static", "--failures", "700", "--promise-latency-ms", "1000"]
    shown = CliRunner(env={"COLUMNS": "160"}).invoke(app, asked, catch_exceptions=False).stdout
    for words in (
        "static on trace.csv", "12.00 executors on average", "rescales", "within 1,000 ms", "failure at 700 s", "recovered after", "promises broken for",
    ):  # fmt: skip
        assert words in shown
    assert "{" not in shown


def test_progress_goes_to_standard_error(trace: Path) -> None:
    done = CliRunner().invoke(app, ["simulate", "--trace", str(trace), "--policy", "static", "--json"], catch_exceptions=False)
    json.loads(done.stdout)
    assert "simulated seconds" in done.stderr


def test_the_picture_shows_load_executors_latency_and_failures(trace: Path, tmp_path: Path) -> None:
    picture = drawn(tmp_path, "simulate", "--trace", trace, "--policy", "hpa", "--failures", 700, "--promise-latency-ms", 1000)
    for words in ("hpa on trace.csv", "Load, rows/s", "arriving", "processed", "Executors", "Latency, s", "promised", "minutes"):
        assert words in picture


@pytest.mark.usefixtures("few")
def test_the_picture_of_several_policies_names_them(trace: Path, tmp_path: Path) -> None:
    picture = drawn(tmp_path, "simulate", "--trace", trace, "--policy", "all")
    assert all(words in picture for words in ("2 policies on trace.csv", "<!-- static -->", "<!-- hpa -->"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--policy", "deadalus"), 'there is no policy "deadalus"; did you mean "daedalus"?'),
        (("--policy", "zzz"), "there are auto, lookahead, daedalus"),
        (("--engine", "flink"), '--engine: found "flink", continuous or micro-batch is allowed'),
        (("--guards", "maybe"), '--guards: found "maybe"'),
        (("--min-scaleout", 5, "--max-scaleout", 3), "--min-scaleout: found 5, at most --max-scaleout (3) is allowed"),
        (("--max-scaleout", 0), "--max-scaleout: found 0, a number of at least 1 is needed"),
        (("--max-scaleout", 1_000_000_000), "--max-scaleout: found 1000000000, at most 10000 is allowed"),
        (("--min-scaleout", 0), "--min-scaleout: found 0, a number of at least 1 is needed"),
        (("--start-scaleout", 20), "--start-scaleout: found 20, a number from 1 to 12 is allowed"),
        (("--capacity-per-worker", 0), "--capacity-per-worker: found 0, a number above 0 is needed"),
        (("--capacity-per-worker", "nan"), "--capacity-per-worker: found nan"),
        (("--downtime", -1), "--downtime: found -1, a number of at least 0 is needed"),
        (("--interval", 0), "--interval: found 0, a number above 0.1 is needed"),
        (("--target-recovery", "inf"), "--target-recovery: found inf"),
        (("--failures", "soon"), '--failures: found "soon", times in seconds are needed'),
        (("--failures", "100,9000"), "--failures: found 9000, the trace goes from 0 s to 1800 s"),
        (("--failures", "100,,200"), '--failures: found "", times in seconds are needed'),
        (("--failures", "600,600"), "--failures: found 600 twice, another time is needed for each"),
        (("--trigger", 5), "--trigger: it is an option of --engine micro-batch, and the engine is continuous"),
        (("--row-cost-us", 100), "--row-cost-us: it is an option of --engine micro-batch"),
        (("--engine", "micro-batch", "--interval", 10), "--interval: it is an option of --engine continuous, and the engine is micro-batch"),
        (("--failures", "-5"), "--failures: found -5, the trace goes from 0 s to 1800 s"),
        (("--policy", "daedalus", "--param", "grace_s"), '--param: found "grace_s", a name and a number, or true or false, are needed'),
        (("--policy", "daedalus", "--param", "grase_s=1"), '--param grase_s: the policy daedalus has no such parameter; did you mean "grace_s"?'),
        (("--policy", "daedalus", "--param", "grace_s=-1"), "--param grace_s: found -1"),
        (("--policy", "all", "--param", "grace_s=1"), "--param: it belongs to one policy"),
        (("--policy", "hpa(80),hpa(85)", "--param", "grace_s=1"), "--param: it belongs to one policy, and several were given; write hpa(target=0.8)"),
        (("--policy", "hpa(80),hpa(80)"), '--policy: found "hpa(80),hpa(80)", a policy is named once'),
        (("--policy", "hpa(tarjet=1)"), '--policy: tarjet: the policy hpa has no such parameter; did you mean "target"?'),
        (("--policy", "hpa,static(24)"), "static(24): a number of executors from 1 to 12 is allowed here"),
        (("--policy", "daedalus(60)"), '--policy: found "daedalus(60)"; a bare number is for static'),
        (("--engine", "micro-batch", "--skew", 0.5), "--skew: found 0.5, a number of at least 1 is needed"),
        (("--engine", "micro-batch", "--partitions", 0), "--partitions: found 0"),
        (("--last", "2h"), "--last: it is about the history of --like, and no recorded job is given"),
        (("--profile", "absent.csv"), "absent.csv: No such file"),
        (("--plot", "picture.pdf"), "ends in .png or .svg"),
    ],
)
def test_a_bad_option_is_one_line(trace: Path, options: tuple[object, ...], said: str) -> None:
    assert said in mistake("simulate", "--trace", trace, *options)


@pytest.mark.parametrize(("text", "said"), [("", "it is empty"), ("t,rate\n5,100\n", "it lasts 0 s"), ("t,load\n0,5\n", "the column rate is missing")])
def test_a_trace_that_cannot_be_used_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    assert said in mistake("simulate", "--trace", written(tmp_path / "bad.csv", text))


def test_times_of_a_trace_that_counts_from_1970_are_shown_to_the_second(tmp_path: Path) -> None:
    path = written(tmp_path / "epoch.csv", "t,rate\n1700000000,100\n1700000600,100\n")
    said = mistake("simulate", "--trace", path, "--policy", "static", "--failures", 1200)
    assert said == "--failures: found 1200, the trace goes from 1700000000 s to 1700000600 s"
    assert "found 1700000300 twice" in mistake("simulate", "--trace", path, "--policy", "static", "--failures", "1700000300,1700000300")


def test_policies_that_cannot_be_profiled_are_named_and_the_others_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulate_options, "POLICIES", {name: POLICIES[name] for name in ("static", "phoebe", "twres")})
    path = written(tmp_path / "silence.csv", "t,rate\n0,0\n600,0\n")
    why = "nothing arrives: there is no rate to profile the job at"
    answer = found("simulate", "--trace", path, "--policy", "all")
    assert [each["policy"] for each in answer["policies"]] == ["static"]
    assert answer["left_out"] == [{"policy": "phoebe", "why": why}, {"policy": "twres", "why": why}]
    assert f"left out: phoebe, twres: {why}" in table("simulate", "--trace", path, "--policy", "all")
    assert mistake("simulate", "--trace", path, "--policy", "phoebe") == why, "one that was asked for alone is a mistake"


def test_neither_a_trace_nor_a_recorded_job_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    assert "--trace: a CSV file of arrivals is needed" in mistake("simulate", "--policy", "static")
    assert "there is no history of a job 'absent'" in mistake("simulate", "--like", "absent")
