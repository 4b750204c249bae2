import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from penstock.core.config import Config
from penstock.core.domain.job_spec import JobSpec, Limits, Promises, QuerySpec, SinkSpec, SourceSpec
from penstock.core.domain.trigger import Trigger
from penstock.runtime.jobfile import LoadedJob, load_job

SMALL = """
[source]
format = "trace"
[query]
function = "job.py:enrich"
[sink]
format = "noop"
"""

WHOLE = """
name = "lookup"
master = "spark://host:7077"
checkpoint = "s3a://bucket/checkpoint"
metrics = "off"
[limits]
min_executors = 2
max_executors = 8
start_executors = 3
[promises]
latency_p95 = "10s"
recovery = "2m"
[sources.clicks]
format = "trace"
rate = "ramp(from=0, to=100, over=60)"
seed = 7
csv = "rates.csv"
arrival_column = "timestamp"
[sources.users]
format = "parquet"
schema = "id INT, name STRING"
path = "/data/users"
[sources.users.options]
"recursive.lookup" = true
[queries.enriched]
function = "job.py:enrich"
sources = ["users", "clicks"]
trigger = { processing_time = "5s" }
rate_limit = "20k/s"
output_mode = "update"
priority = 2
minimum_accuracy = 0.5
sink = { format = "parquet", path = "out", options = { compression = "zstd" } }
[queries.counted]
function = "package.module:count"
sources = ["clicks"]
[queries.counted.sink]
foreach_batch = "job.py:write"
[autopilot]
mode = "observe"
[settings]
hold_s = "10m"
restart_budget = 9
history_days = 1.5
[spark]
"spark.executor.memory" = "1g"
spark.executor.cores = 1
spark.ui.enabled = false
"""


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., LoadedJob]:
    (tmp_path / "job.py").touch()

    def load(text: str, *, name: str = "job.toml", **environ: str) -> LoadedJob:
        (tmp_path / name).write_text(text)
        return load_job(tmp_path / name, environ=environ)

    return load


Load = Callable[..., LoadedJob]


def test_every_key_of_a_whole_file_arrives_in_the_job(load: Load, tmp_path: Path) -> None:
    assert load(WHOLE).spec == JobSpec(
        name="lookup", folder=str(tmp_path), checkpoint="s3a://bucket/checkpoint", master="spark://host:7077", metrics_address=None,
        limits=Limits(min_executors=2, max_executors=8, start_executors=3), promises=Promises(latency_p95_s=10, recovery_s=120),
        sources=(
            SourceSpec(
                name="clicks", format="trace", options={"rate": "ramp(from=0, to=100, over=60)", "seed": "7", "csv": f"{tmp_path}/rates.csv"},
                arrival_column="timestamp",
            ),
            SourceSpec(name="users", format="parquet", schema="id INT, name STRING", options={"path": "/data/users", "recursive.lookup": "true"}),
        ),
        queries=(
            QuerySpec(
                name="enriched", function=f"{tmp_path}/job.py:enrich", sources=("users", "clicks"),
                sink=SinkSpec(format="parquet", options={"path": f"{tmp_path}/out", "compression": "zstd"}), trigger=Trigger(interval_s=5),
                rate_limit_rows_per_s=20_000, output_mode="update", priority=2, minimum_accuracy=0.5,
            ),
            QuerySpec(name="counted", function="package.module:count", sources=("clicks",), sink=SinkSpec(foreach_batch=f"{tmp_path}/job.py:write")),
        ),
        config=Config(reading_interval_s=15, hold_s=600, restart_budget=9, history_days=1.5),
        spark_conf={"spark.executor.memory": "1g", "spark.executor.cores": "1", "spark.ui.enabled": "false"},
    )  # fmt: skip


def test_a_file_of_three_tables_is_a_job_with_defaults_for_all_else(load: Load, tmp_path: Path) -> None:
    assert load(SMALL, name="lookup.toml").spec == JobSpec(
        name="lookup", folder=str(tmp_path), checkpoint=f"{tmp_path}/checkpoint", sources=(SourceSpec(name="source", format="trace"),),
        queries=(QuerySpec(name="lookup", function=f"{tmp_path}/job.py:enrich", sources=("source",), sink=SinkSpec(format="noop")),),
        metrics_address="127.0.0.1:0", config=Config(reading_interval_s=15),
    )  # fmt: skip


def test_the_name_is_the_folders_for_job_toml_made_fit_where_it_must_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "click stream"
    folder.mkdir()
    (folder / "job.py").touch()
    (folder / "job.toml").write_text(SMALL)
    monkeypatch.chdir(folder)
    spec = load_job(Path("job.toml")).spec
    assert (spec.name, spec.folder, spec.queries[0].name) == ("click-stream", str(folder), "click-stream")


def test_a_job_file_that_is_a_link_starts_from_the_folder_of_the_link(tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text(SMALL)
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "job.py").touch()
    (folder / "job.toml").symlink_to(tmp_path / "real.toml")
    assert load_job(folder / "job.toml").spec.checkpoint == f"{folder}/checkpoint"


@pytest.mark.parametrize(
    ("written", "trigger"),
    [
        ('"2s"', Trigger(interval_s=2)),
        ("2", Trigger(interval_s=2)),
        ('"asap"', Trigger()),
        ('"available-now"', Trigger(kind="available_now")),
        ('"realtime:15s"', Trigger(kind="real_time", interval_s=15)),
        ('{ real_time = "15s" }', Trigger(kind="real_time", interval_s=15)),
        ('{ processing_time = "500ms" }', Trigger(interval_s=0.5)),
    ],
)
def test_a_trigger_is_written_in_several_ways(load: Load, written: str, trigger: Trigger) -> None:
    assert load(SMALL.replace("[query]", f"[query]\ntrigger = {written}")).spec.queries[0].trigger == trigger


@pytest.mark.parametrize(
    ("master", "interval_s"), [("embedded", 5), ("yarn", 15), ("k8s://https://host:443", 15), ("local[2]", 15), ("local-cluster[2,1,1024]", 15)]
)
def test_readings_come_every_5_seconds_on_the_embedded_cluster_and_every_15_elsewhere(load: Load, master: str, interval_s: float) -> None:
    spec = load(f'master = "{master}"\n{SMALL}').spec
    assert (spec.master, spec.config.reading_interval_s) == (master, interval_s)


@pytest.mark.parametrize(("written", "seconds"), [("2", 2), ('"1m"', 60), ('"500ms"', 0.5)])
def test_a_reading_interval_that_is_set_holds_on_any_cluster(load: Load, written: str, seconds: float) -> None:
    for master in ("embedded", "yarn"):
        assert load(f'master = "{master}"\n{SMALL}\n[settings]\nreading_interval_s = {written}').spec.config.reading_interval_s == seconds


def test_options_may_have_dots_and_the_names_of_anything_but_the_keys_of_the_table(load: Load) -> None:
    for written in ('kafka.group.id = "a"', '"kafka.group.id" = "a"', 'options."kafka.group.id" = "a"', 'options.kafka.group.id = "a"'):
        assert load(SMALL.replace('"trace"', f'"other"\n{written}')).spec.sources[0].options == {"kafka.group.id": "a"}
    names = ("columns", "schema_", "copy", "model_config", "name", "json")
    written = "\n".join(f'{each} = "x"' for each in names)
    source = load(SMALL.replace('"trace"', f'"x"\n{written}')).spec.sources[0]
    assert source == SourceSpec(name="source", format="x", options=dict.fromkeys(names, "x"))


@pytest.mark.parametrize(
    ("written", "checkpoint"),
    [("a/b", "{folder}/a/b"), ("./a", "{folder}/a"), ("/abs", "/abs"), ("hdfs://nn/a", "hdfs://nn/a"), ("file:/a", "file:/a"), ("s3a://b/a", "s3a://b/a")],
)
def test_a_relative_checkpoint_starts_from_the_job_file(load: Load, tmp_path: Path, written: str, checkpoint: str) -> None:
    assert load(f'checkpoint = "{written}"\n{SMALL}').spec.checkpoint == checkpoint.format(folder=tmp_path)


@pytest.mark.parametrize("address", ["127.0.0.1:9464", "0.0.0.0:0", "localhost:80", "[::1]:9464"])
def test_metrics_have_an_address(load: Load, address: str) -> None:
    assert load(f'metrics = "{address}"\n{SMALL}').spec.metrics_address == address


def test_shorthands_and_named_tables_go_together(load: Load) -> None:
    spec = load(
        '[query.sink]\nformat = "noop"\n[queries.b]\nfunction = "m:f"\nsink.format = "noop"\n' + SMALL.replace('[sink]\nformat = "noop"', ""), name="a.toml"
    ).spec
    assert [each.name for each in spec.queries] == ["a", "b"]
    assert all(each.sources == ("source",) for each in spec.queries)


def test_secrets_are_in_the_job_and_not_in_what_is_declared(load: Load) -> None:
    text = SMALL.replace('"trace"', '"jdbc"\npassword = "${env:P}"\nurl = "jdbc:x?user=${env:U}&port=$${1}"')
    loaded = load(text, P="hunter2", U="ann")
    assert loaded.spec.sources[0].options == {"password": "hunter2", "url": "jdbc:x?user=ann&port=${1}"}
    assert loaded.secrets == {"hunter2", "ann", "jdbc:x?user=ann&port=${1}"}
    assert loaded.declared["source"] == {"format": "jdbc", "password": "${env:P}", "url": "jdbc:x?user=${env:U}&port=$${1}"}
    assert "hunter2" not in repr(loaded)


def test_a_secret_file_is_found_beside_the_job_file_and_a_byte_order_mark_does_not_matter(load: Load, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hunter2\n")
    loaded = load(SMALL.replace('"trace"', '"jdbc"\npassword = "${file:password}"'))
    assert loaded.spec.sources[0].options["password"] == "hunter2" and loaded.secrets == {"hunter2"}
    assert load("\ufeff" + SMALL).spec.queries[0].sources == ("source",)


def test_the_environment_can_give_numbers_too_and_that_of_the_process_is_the_default(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = SMALL.replace("[query]", '[query]\nminimum_accuracy = "${env:SHARE}"')
    spec = load('[limits]\nmax_executors = "${env:MOST}"\n[settings]\nhold_s = "${env:HOLD}"\n' + text, MOST="6", HOLD="90", SHARE="0.75").spec
    assert (spec.limits.max_executors, spec.config.hold_s, spec.queries[0].minimum_accuracy) == (6, 90, 0.75)
    monkeypatch.setitem(os.environ, "PENSTOCK_TEST_NAME", "from-outside")
    (tmp_path / "job.toml").write_text('name = "${env:PENSTOCK_TEST_NAME}"\n' + SMALL)
    assert load_job(tmp_path / "job.toml").spec.name == "from-outside"


def test_the_scaffold_of_penstock_init_is_a_job(tmp_path: Path) -> None:
    for name in ("job.toml", "job.py"):
        (tmp_path / name).write_bytes((files("penstock") / "cli" / "scaffold" / name).read_bytes())
    loaded = load_job(tmp_path / "job.toml", environ={})
    assert loaded.secrets == frozenset()
    assert loaded.spec == JobSpec(
        name=tmp_path.name, folder=str(tmp_path), checkpoint=f"{tmp_path}/checkpoint", master="embedded", metrics_address="127.0.0.1:0",
        limits=Limits(min_executors=1, max_executors=4), promises=Promises(latency_p95_s=15, recovery_s=120),
        sources=(SourceSpec(name="events", format="trace", options={"rate": "sine(mean=400, amplitude=200, period=120)"}, arrival_column="arrival"),),
        queries=(
            QuerySpec(
                name="averages", function=f"{tmp_path}/job.py:averages", sources=("events",),
                sink=SinkSpec(format="parquet", options={"path": f"{tmp_path}/out"}), trigger=Trigger(interval_s=5),
            ),
        ),
        config=Config(reading_interval_s=5), spark_conf={"spark.sql.shuffle.partitions": "4"},
    )  # fmt: skip
