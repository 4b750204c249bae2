import re
from pathlib import Path
from typing import Any

import pytest
from asked import found, mistake
from typer.testing import CliRunner

from penstock.cli.app import app

GRAPH = """
scheduler = "fair"

[[query]]
name = "clicks"
selectivity = 0.5

[[query]]
name = "views"
share = 0.4

[[query]]
name = "alerts"
reads = "clicks"
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.csv"
    path.write_text("t,rate\n0,4000\n300,4000\n600,9000\n900,9000\n")
    return path


def written(folder: Path, text: str) -> Path:
    path = folder / "graph.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("engine", ["continuous", "micro-batch"])
def test_every_query_of_a_graph_is_reported(tmp_path: Path, trace: Path, engine: str) -> None:
    asked = ("simulate", "--trace", trace, "--graph", written(tmp_path, GRAPH), "--engine", engine, "--policy", "static", "--failures", "450")
    answer: dict[str, Any] = found(*asked, "--promise-latency-ms", 30_000)
    clicks, views, alerts = (answer["queries"][name] for name in ("clicks", "views", "alerts"))
    assert views["arrived_rows"] == pytest.approx(0.4 * clicks["arrived_rows"])
    assert alerts["arrived_rows"] == pytest.approx(0.5 * clicks["processed_rows"], rel=0.002), "but for the last second"
    assert answer["engine"] == engine and answer["failures"][0]["measured_s"] > 0
    assert all(each["latency_ms"]["p95"] > 0 and each["within_latency"] > 0.5 for each in (clicks, views, alerts))


def test_a_query_has_options_of_its_own_and_a_trace_of_its_own(tmp_path: Path, trace: Path) -> None:
    (tmp_path / "other.csv").write_text("t,rate\n0,100\n900,100\n")
    slow = written(tmp_path, '[[query]]\nname = "a"\n\n[[query]]\nname = "b"\ntrace = "other.csv"\ntrigger = 20\nrow_cost_us = 10000\npartitions = 4\n')
    answer = found("simulate", "--trace", trace, "--graph", slow, "--engine", "micro-batch", "--policy", "static")
    assert answer["queries"]["b"]["arrived_rows"] == pytest.approx(90_000)
    assert answer["queries"]["b"]["latency_ms"]["p50"] > 10_000 > answer["queries"]["a"]["latency_ms"]["p50"]


def test_a_graph_of_one_query_costs_what_the_query_does(tmp_path: Path, trace: Path) -> None:
    asked = ("simulate", "--trace", trace, "--policy", "hpa", "--engine", "micro-batch", "--max-scaleout", 6)
    alone, graph = found(*asked), found(*asked, "--graph", written(tmp_path, '[[query]]\nname = "query"\n'))
    assert {**alone, "queries": graph["queries"]} == graph


@pytest.mark.parametrize("engine", ["continuous", "micro-batch"])
def test_the_instances_of_a_query_share_its_rows_and_those_that_read_them_are_as_many(tmp_path: Path, trace: Path, engine: str) -> None:
    three = written(tmp_path, GRAPH.replace('name = "clicks"', 'name = "clicks"\ninstances = 3'))
    asked = ("simulate", "--trace", trace, "--engine", engine, "--policy", "static", "--graph")
    queries = found(*asked, three)["queries"]
    assert list(queries) == ["clicks-1", "clicks-2", "clicks-3", "views", "alerts-1", "alerts-2", "alerts-3"]
    whole = found(*asked, written(tmp_path, GRAPH))["queries"]
    for name in ("clicks", "alerts"):
        assert sum(queries[f"{name}-{number}"]["arrived_rows"] for number in (1, 2, 3)) == pytest.approx(whole[name]["arrived_rows"], rel=0.01)
    assert queries["clicks-2"]["arrived_rows"] == pytest.approx(whole["clicks"]["arrived_rows"] / 3)


def test_instances_share_a_trace_of_their_own_too(tmp_path: Path, trace: Path) -> None:
    (tmp_path / "other.csv").write_text("t,rate\n0,100\n900,100\n")
    two = written(tmp_path, '[[query]]\nname = "b"\ntrace = "other.csv"\ninstances = 2\n')
    queries = found("simulate", "--trace", trace, "--graph", two, "--policy", "static")["queries"]
    assert [each["arrived_rows"] for each in queries.values()] == pytest.approx([45_000, 45_000])


@pytest.mark.parametrize("engine", ["continuous", "micro-batch"])
def test_a_policy_steers_a_graph_as_it_does_a_query(tmp_path: Path, trace: Path, engine: str) -> None:
    asked = ("simulate", "--trace", trace, "--graph", written(tmp_path, GRAPH), "--engine", engine, "--policy", "hpa", "--max-scaleout", 12)
    answer = found(*asked, "--start-scaleout", 3)
    assert answer["rescales"] > 0 and answer["average_workers"] > 3.0


def test_the_table_has_the_latency_of_each_query(tmp_path: Path, trace: Path) -> None:
    asked = ["simulate", "--trace", str(trace), "--graph", str(written(tmp_path, GRAPH)), "--policy", "static"]
    shown = CliRunner(env={"COLUMNS": "160"}).invoke(app, asked, catch_exceptions=False).stdout
    assert all(f"of {name}" in shown for name in ("clicks", "views", "alerts"))


def test_the_example_of_the_documentation_runs(tmp_path: Path, trace: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", (Path(__file__).parents[2] / "docs" / "simulator.md").read_text(), re.DOTALL)
    answer = found("simulate", "--trace", trace, "--graph", written(tmp_path, example), "--engine", "micro-batch", "--policy", "static")
    assert set(answer["queries"]) == {"clicks", "views-1", "views-2", "views-3", "alerts"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a table [[query]] is needed"),
        ("query = 5", "a table [[query]] is needed"),
        ("[[query]\n", "not valid TOML"),
        ('sheduler = "fair"\n[[query]]\nname = "a"\n', 'there is no key "sheduler" for this; there are scheduler, query'),
        ('scheduler = "lifo"\n[[query]]\nname = "a"\n', 'scheduler: found \'lifo\', "fair" or "fifo" is allowed'),
        ('scheduler = "fifo"\n[[query]]\nname = "a"\n', 'scheduler: found "fifo", tasks that run all the time'),
        ("[[query]]\nshare = 1\n", "every [[query]] needs a name"),
        ('[[query]]\nname = "a"\ntrigger = 5\n', 'query "a": there is no key "trigger" for this'),
        ('[[query]]\nname = "a"\ninterval = "5s"\n', "query \"a\": interval: found '5s', a number is needed"),
        ('[[query]]\nname = "a"\ninterval = 0\n', 'query "a": interval: found 0, a number above 0.1 is needed'),
        ('[[query]]\nname = "a"\ninstances = 0\n', 'query "a": instances: found 0, a whole number of at least 1 is needed'),
        ('[[query]]\nname = "a"\ninstances = 1.5\n', 'query "a": instances: found 1.5, a whole number is needed'),
        ('[[query]]\nname = "a"\n[[query]]\nname = "b"\nreads = "a"\ninstances = 2\n', '"a", which it reads, has 1: as many are needed'),
        ('[[query]]\nname = "a"\nselectivity = -1\n', 'query "a": a share above 0 and a selectivity of at least 0'),
        ('[[query]]\nname = "a"\nreads = "b"\n', 'query "a" reads "b": no query before it has that name'),
        ('[[query]]\nname = "a"\n[[query]]\nname = "a"\n', 'there are two queries "a"'),
        ('[[query]]\nname = "a"\n[[query]]\nname = "b"\nreads = "a"\nshare = 0.5\n', "neither a share nor a trace"),
        ('[[query]]\nname = "a"\nshare = 0.5\ntrace = "x.csv"\n', "not both"),
        ('[[query]]\nname = "a"\ntrace = "absent.csv"\n', "absent.csv: No such file"),
    ],
)
def test_a_graph_that_cannot_be_is_one_line(tmp_path: Path, trace: Path, text: str, said: str) -> None:
    complaint = mistake("simulate", "--trace", trace, "--graph", written(tmp_path, text), "--policy", "static")
    assert said in complaint and "\n" not in complaint.strip()


def test_a_trace_of_a_query_that_is_of_another_time_is_one_line(tmp_path: Path, trace: Path) -> None:
    (tmp_path / "epoch.csv").write_text("t,rate\n1700000000,100\n1700000900,500\n")
    other = written(tmp_path, '[[query]]\nname = "a"\ntrace = "epoch.csv"\ninstances = 2\n')
    complaint = mistake("simulate", "--trace", trace, "--graph", other, "--policy", "static")
    assert 'query "a": trace: it goes from 1700000000 s to 1700000900 s and the run from 0 s to 900 s' in complaint
    later = written(tmp_path, '[[query]]\nname = "a"\ntrace = "later.csv"\n')
    (tmp_path / "later.csv").write_text("t,rate\n600,100\n1500,500\n")
    assert found("simulate", "--trace", trace, "--graph", later, "--policy", "static")["queries"]["a"]["arrived_rows"] > 90_000


def test_a_graph_is_neither_absent_nor_like_a_recorded_job(tmp_path: Path, trace: Path) -> None:
    assert "--graph: there is no file" in mistake("simulate", "--trace", trace, "--graph", tmp_path / "absent.toml")
    assert "give one of --like and --graph" in mistake("simulate", "--trace", trace, "--graph", written(tmp_path, GRAPH), "--like", "job")


def test_a_graph_with_traces_of_its_own_is_profiled_with_the_share_that_each_query_has(tmp_path: Path, trace: Path) -> None:
    graph = written(tmp_path, '[[query]]\nname = "a"\ntrace = "trace.csv"\n[[query]]\nname = "b"\nshare = 0.5\n')
    run = found("simulate", "--trace", trace, "--graph", graph, "--policy", "twres")
    assert run["profiling_worker_seconds"] > 0 and run["average_workers"] > 1
