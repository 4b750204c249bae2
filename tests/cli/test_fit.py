"""`penstock fit`, `forecast` and `recovery`: for people who have only a CSV file; a bad one is one clear line."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from penstock.bench.worlds.khaos import latencies, recoveries
from penstock.bench.worlds.workers import Workers, rising, skewed
from penstock.cli.app import app
from penstock.core.errors import UserMistake

Found = Callable[..., dict[str, Any]]


@pytest.fixture
def found() -> Found:
    """Run a command with --json; the object it prints."""

    def run(*arguments: object) -> dict[str, Any]:
        done = CliRunner().invoke(app, [*map(str, arguments), "--json"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return dict(json.loads(done.stdout))

    return run


def mistake(*arguments: object) -> str:
    with pytest.raises(UserMistake) as raised:
        CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def workers_csv(path: Path, noise: float = 0.02) -> Workers:
    chance = random.Random(5)
    workers = skewed(chance, utilization_noise=noise)
    lines = [
        f"{reading.at_s},{each.worker},{each.utilization:.4f},{each.throughput_rows_per_s:.1f}"
        for reading in workers.ramp(chance, rising(0.1, 0.95, 100))
        for each in reading.workers
    ]
    path.write_text("t_s,worker,utilization,throughput\n" + "\n".join(lines))
    return workers


def test_capacity_is_extrapolated_from_half_the_load_within_five_per_cent(tmp_path: Path, found: Found) -> None:
    path = tmp_path / "workers.csv"
    workers = workers_csv(path)
    half = found("fit", "capacity", path, "--max-utilization", 0.5)
    assert half["capacity"] == pytest.approx(workers.capacity, rel=0.05)
    assert half["low"] <= half["capacity"] <= half["high"]
    assert len(half["workers"]) == 12 and half["skew"] > 1
    assert sum(each["capacity"] for each in half["workers"]) == pytest.approx(half["capacity"], rel=1e-6)
    assert found("fit", "capacity", path, "--at", 0.5)["capacity"] == pytest.approx(workers.capacity / 2, rel=0.08)


def test_workers_read_at_moments_of_their_own_and_a_missing_reading_do_no_harm(tmp_path: Path, found: Found) -> None:
    path = tmp_path / "workers.csv"
    workers = workers_csv(path)
    header, *lines = path.read_text().splitlines()
    shifted = [f"{float(t) + int(worker) * 0.5},{worker},{rest}" for t, worker, rest in (line.split(",", 2) for line in lines)]
    path.write_text("\n".join([header, *shifted[:37], *shifted[38:]]))
    assert found("fit", "capacity", path)["capacity"] == pytest.approx(workers.capacity, rel=0.05)


def test_capacity_over_scale_outs_says_its_form_and_its_error(tmp_path: Path, found: Found) -> None:
    path = tmp_path / "profiles.csv"
    path.write_text("scaleout,throughput\n" + "\n".join(f"{s},{9000 * s**0.8:.0f}" for s in (2, 5, 8, 11, 14, 18, 21, 24)))
    fitted = found("fit", "scaleout", path, "--at", "12,30")
    assert fitted["form"] == "power" and fitted["mape"] < 0.01 < fitted["constant_mape"]
    assert [each["scaleout"] for each in fitted["predictions"]] == [12, 30]
    assert fitted["predictions"][1]["throughput"] == pytest.approx(9000 * 30**0.8, rel=0.01)


@pytest.mark.parametrize("leave_out", ["interval", "one"])
def test_recovery_and_latency_are_fitted_and_scored_on_what_was_held_out(tmp_path: Path, found: Found, leave_out: str) -> None:
    failures, runs = tmp_path / "failures.csv", tmp_path / "runs.csv"
    few = slice(None) if leave_out == "interval" else slice(None, None, 3)
    failures.write_text(
        "interval_s,rate,recovery_s\n" + "\n".join(f"{r.interval_s},{r.rate_rows_per_s},{r.recovery_s}" for r in recoveries("worst_case", 3)[few])
    )
    runs.write_text(
        "interval_s,rate,latency_ms\n" + "\n".join(f"{r.interval_s},{r.rate_rows_per_s},{1000 * r.latency_s}" for r in latencies("mean_pauses", 3)[few])
    )
    recovery = found("fit", "recovery", failures, "--leave-out", leave_out)
    assert recovery["mape"] < 0.16 and recovery["mape"] < recovery["constant_mape"] and recovery["form"] and recovery["leave_out"] == leave_out
    latency = found("fit", "latency", runs, "--leave-out", leave_out)
    assert latency["mape"] < 0.16 and latency["mape"] < latency["constant_mape"]


def test_a_profile_gives_latency_validity_and_the_knee_of_each_scale_out(tmp_path: Path, found: Found) -> None:
    path = tmp_path / "profile.csv"
    rng = np.random.default_rng(1)
    rows = [
        f"{s},{rate},{(600 + 80 / (1 - rate / (9000 * s)) if rate < 8700 * s else 60_000 * rng.uniform(0.8, 1.2)) * rng.lognormal(0, 0.05):.0f}"
        for s in (2, 6, 10, 14)
        for rate in range(6_000, 9900 * s, 6_000 if s < 6 else 12_000)
    ]
    path.write_text("scaleout,rate,latency_ms\n" + "\n".join(rows))
    fitted = found("fit", "profile", path)
    assert fitted["mape"] < fitted["constant_mape"] and fitted["validity_accuracy"] > 0.8
    assert [fitted["t_max"][str(s)] for s in (2, 6)] == [18_000, 54_000]


def test_recovery_on_a_trace_is_exact_for_a_constant_rate_and_null_where_it_never_comes(tmp_path: Path, found: Found) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("t,rate\n0,51000\n5000,51000\n")
    asked = ("recovery", "--trace", path, "--at", 1200, "--interval", 10, "--downtime", 110, "--capacity")
    assert found(*asked, 100_000)["recovery_s"] == pytest.approx(110 + 120 * 0.51 / 0.49, abs=0.01)
    assert found(*asked, 50_000)["recovery_s"] is None
    assert mistake(*asked[:4], 9000, *asked[5:], 100_000) == "--at: found 9000, the trace goes from 0 s to 5000 s"


def test_a_forecast_is_scored_beside_what_simple_forecasters_say(tmp_path: Path, found: Found) -> None:
    path = tmp_path / "trace.csv"
    rng = np.random.default_rng(2)
    t = np.arange(0, 9000, 10)
    rate = 5000 + 3000 * np.sin(2 * np.pi * t / 7200) + rng.normal(0, 60, len(t))
    path.write_text("t,rate\n" + "\n".join(f"{a},{b:.1f}" for a, b in zip(t, rate, strict=True) if a % 470))
    fitted = found("forecast", path, "--origins", 4)
    assert fitted["wape"] < fitted["baselines"]["naive"] and 0 <= fitted["coverage_80"] <= 1
    assert fitted["seconds_per_forecast"] > 0 and sum(fitted["models"].values()) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    ("command", "text", "said"),
    [
        (("fit", "capacity"), "t_s,worker,cpu,throughput\n0,a,1,1\n", "the column utilization is missing"),
        (("fit", "capacity"), "t_s,worker,utilization,throughput\n0,a,70,1\n", 'utilization is "70", a number from 0 to 1.2 is needed'),
        (("fit", "capacity"), "t_s,worker,utilization,throughput\n0,a,0.5,10\n", "1 of 1 moments can be used"),
        (("fit", "scaleout"), "scaleout,throughput\n0,5\n", "scaleout is"),
        (("fit", "recovery"), "interval_s,rate,recovery_s\n10,100,60\n", "1 recoveries seen, 4 needed"),
        (("fit", "recovery"), "interval_s,rate,recovery_s\n" + "10,100,60\n10,120,70\n10,140,75\n10,150,90\n10,160,95\n", "take --leave-out one"),
        (("fit", "latency"), "interval_s,rate,latency_ms\n10,100,-60\n", "latency_ms is"),
        (("fit", "profile"), "scaleout,rate,latency_ms\n2,100,60\n", "at least 4 different scale-outs and rates"),
        (("forecast",), "t,rate\n0,5\n", "0 s without a long gap at its end, 4500 s of history and horizon are needed"),
        (("forecast",), "t,rate\n0,\n1,\n", "no row has a rate"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(tmp_path: Path, command: tuple[str, ...], text: str, said: str) -> None:
    path = tmp_path / "given.csv"
    path.write_text(text)
    assert said in mistake(*command, path)


def test_every_tool_draws_a_picture(tmp_path: Path) -> None:
    trace, workers, picture = tmp_path / "trace.csv", tmp_path / "workers.csv", tmp_path / "picture.png"
    trace.write_text("t,rate\n0,51000\n5000,61000\n")
    workers_csv(workers)
    for arguments in (
        ("recovery", "--trace", trace, "--at", 1200, "--capacity", 100_000, "--interval", 10, "--downtime", 110),
        ("fit", "capacity", workers, "--max-utilization", 0.6),
    ):
        done = CliRunner().invoke(app, [*map(str, arguments), "--plot", str(picture)], catch_exceptions=False)
        assert done.exit_code == 0 and picture.read_bytes().startswith(b"\x89PNG")
        picture.unlink()
    assert "ends in .png or .svg" in mistake("fit", "capacity", workers, "--plot", tmp_path / "picture.pdf")


def test_capacity_tells_how_wrong_it_is_at_the_moments_it_was_not_shown(tmp_path: Path, found: Found) -> None:
    path = tmp_path / "workers.csv"
    workers_csv(path)
    half = found("fit", "capacity", path, "--max-utilization", 0.5)
    assert half["mape"] < half["constant_mape"] and half["paper_mape"] is not None


def test_micro_batches_are_a_form_of_latency_that_wins_on_micro_batches(tmp_path: Path, found: Found) -> None:
    path, rng = tmp_path / "runs.csv", np.random.default_rng(4)
    rows = [(i, r, 1000 * (0.5 * i + 0.4 + 4e-5 * r * i) * rng.lognormal(0, 0.04)) for i in (1, 2, 5, 10, 20) for r in range(2000, 22000, 4000)]
    path.write_text("interval_s,rate,latency_ms\n" + "\n".join(f"{i},{r},{ms:.1f}" for i, r, ms in rows))
    fitted = found("fit", "latency", path)
    assert "micro-batches" in fitted["form"] and fitted["mape"] < 0.07 < fitted["paper_mape"]


def test_more_rows_than_are_kept_lose_no_interval(tmp_path: Path, found: Found) -> None:
    path = tmp_path / "failures.csv"
    rows = [f"{i},{r},{60 + r * (i + 60) / (1000 - r):.1f}" for i in (10, 60, 120) for r in np.linspace(100, 800, 300)]
    path.write_text("interval_s,rate,recovery_s\n" + "\n".join(rows))
    fitted = found("fit", "recovery", path)
    assert fitted["intervals_s"] == [10, 60, 120] and fitted["parts"] == 3 and fitted["rows"] == 900 and fitted["mape"] < 0.1


def test_a_trace_sampled_more_slowly_than_the_step_is_forecast_from_the_right_moment(tmp_path: Path, found: Found) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("t,rate\n" + "\n".join(f"{t},{1000 + t}" for t in range(0, 9000, 60)))
    fitted = found("forecast", path, "--origins", 3, "--no-baselines")
    assert fitted["wape"] < 0.005, "a straight line is foretold, at the time at which it comes"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--capacity", "inf"), "--capacity: found inf, a number is needed"),
        (("--at", "nan"), "--at: found nan, a number is needed"),
        (("--plot", "picture.pdf"), "ends in .png or .svg"),
    ],
)
def test_an_option_that_is_no_number_or_no_picture_is_one_line(tmp_path: Path, arguments: tuple[str, str], said: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("t,rate\n0,5\n100,6\n")
    options = {"--trace": path, "--at": 10, "--capacity": 10, "--interval": 1, "--downtime": 1, arguments[0]: arguments[1]}
    assert said in mistake("recovery", *(word for option in options.items() for word in option))
