from importlib import import_module
from pathlib import Path

import pytest

from penstock.cli.init import benchmark_job
from penstock.core.errors import UserMistake
from penstock.runtime.jobfile import load_job
from penstock.workloads.catalogue import BENCHMARKS, benchmark, job_toml


def written(folder: Path, name: str, *, kafka: bool = False, real_time: bool = False) -> Path:
    for file, text in benchmark_job(name, kafka=kafka, real_time=real_time).items():
        (folder / file).write_text(text)
    return folder / "job.toml"


@pytest.mark.parametrize("name", BENCHMARKS)
def test_each_query_is_a_function_of_its_module(name: str) -> None:
    module = import_module(f"penstock.workloads.{name}")
    assert all(callable(getattr(module, query.name)) for query in benchmark(name).queries)


@pytest.mark.parametrize("kafka", [False, True], ids=["trace", "kafka"])
@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_job_file_of_a_benchmark_is_valid_and_has_all_its_queries(tmp_path: Path, name: str, kafka: bool) -> None:
    spec = load_job(written(tmp_path, name, kafka=kafka)).spec
    assert [query.name for query in spec.queries] == [query.name for query in benchmark(name).queries]
    assert {source.format for source in spec.sources} == {"kafka" if kafka else "trace"} and len(spec.sources) == len(benchmark(name).sources)


@pytest.mark.parametrize("name", [name for name in BENCHMARKS if name != "topspeed"])
def test_in_real_time_mode_a_job_has_the_queries_that_it_allows(tmp_path: Path, name: str) -> None:
    spec = load_job(written(tmp_path, name, kafka=True, real_time=True)).spec
    assert [query.name for query in spec.queries] == [query.name for query in benchmark(name).queries if query.in_real_time]
    assert {(query.trigger.kind, query.output_mode) for query in spec.queries} == {("real_time", "update")}


def test_two_sources_have_different_rows(tmp_path: Path) -> None:
    seeds = [source.options["seed"] for source in load_job(written(tmp_path, "taxi")).spec.sources]
    assert len(set(seeds)) == 2


def test_what_real_time_mode_does_not_allow_is_one_line_with_the_reason() -> None:
    with pytest.raises(UserMistake, match="--real-time: topspeed cannot run in Real-Time Mode: transformWithState of PySpark is a Python operator"):
        job_toml(benchmark("topspeed"), kafka=True, real_time=True)
    with pytest.raises(UserMistake, match="--real-time: add --kafka, as Real-Time Mode reads Kafka only"):
        job_toml(benchmark("ysb"), real_time=True)
    with pytest.raises(UserMistake, match='--workload: found "yb", wordcount, ysb, '):
        benchmark("yb")
