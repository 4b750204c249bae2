from pathlib import Path

import pytest
from asked import shown
from event_logs import streaming_log, written
from recorded_history import shadow_history, simulated

from penstock.cli import simulate_options
from penstock.core.policies.registry import POLICIES

LONG = ("static", "hpa_paper", "spark_dra")


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated(tmp_path_factory.mktemp("job") / "history.db", minutes=40)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all policies only some, with long names, for the sake of time."""
    monkeypatch.setattr(simulate_options, "POLICIES", {name: POLICIES[name] for name in LONG})


def cells(text: str) -> set[str]:
    assert "…" not in text
    return {*text.split()}


def test_replays_audits_and_simulations_show_on_eighty_columns_all_that_they_show_on_wide_ones(history: Path, tmp_path: Path) -> None:
    narrow, wide = (shown("replay", history, "--policy", "all", columns=columns) for columns in (80, 200))
    assert cells(wide) <= cells(narrow) and {*LONG, "recorded", "simulated", "executor-seconds"} <= cells(narrow)
    assert max(len(line) for line in narrow.splitlines() if line.startswith(" ")) <= 80
    written(tmp_path / "app-counts", streaming_log(length_s=600.0, name="counts-of-the-whole-country"))
    narrow, wide = (shown("audit", tmp_path, "--promise-latency-ms", 9000, columns=columns) for columns in (80, 250))
    assert cells(wide) <= cells(narrow) and {*LONG, "wasted", "confidence", "counts-of-the-whole-country"} <= cells(narrow)
    trace = tmp_path / "a trace.csv"
    trace.write_text("t,rate\n0,80000\n900,90000\n")
    narrow, wide = (shown("simulate", "--trace", trace, "--policy", "all", "--failures", 300, columns=columns) for columns in (80, 200))
    assert cells(wide) <= cells(narrow) and {*LONG, "executor-seconds", "never"} <= cells(narrow)


@pytest.mark.parametrize("command", ["history", "readiness", "explain --last-change", "grade"])
def test_what_a_job_remembers_is_shown_on_eighty_columns_as_fully_as_on_wide_ones(history: Path, tmp_path: Path, command: str) -> None:
    for file in (history, shadow_history(tmp_path / "shadow_history.db")):
        narrow, wide = (shown(*command.split(), "--file", file, columns=columns) for columns in (80, 200))
        assert cells(wide) <= cells(narrow)
