import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.core.domain.job_spec import EMBEDDED, CpuQuery, FeedSpec, KafkaSpec, SinkSpec
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.runtime.jobfile import LoadedJob, load_job
from penstock.spark.cpu import reports_cpu

SOURCE = '[sources.clicks]\nformat = "kafka"\nsubscribe = "clicks"\n'
TRACE = '[sources.clicks]\nformat = "trace"\n'
QUERY = '[queries.a]\nfunction = "job.py:f"\n'
NOOP = '[queries.a.sink]\nformat = "noop"\n'
SINK = '[queries.a.sink]\nformat = "kafka"\ntopic = "counts"\n'
ANY_JOB = TRACE + QUERY + NOOP
KAFKA_JOB = SOURCE + QUERY + SINK
BOOTSTRAP = '"embedded" or brokers such as "host:9092,host2:9092"'
CONNECTOR = 'coordinates such as "group:artifact:version", the path of a jar, or a list of these'
TOPIC = 'a topic of at most 249 letters, digits, ".", "_" and "-" is allowed (not "." or ".." alone)'
FEED_KEYS = "value_format, rate, csv, at_end, seed, compression, factor, rows, parquet"
Load = Callable[..., LoadedJob]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    (tmp_path / "job.py").touch()

    def load(text: str, **environ: str) -> LoadedJob:
        (tmp_path / "job.toml").write_text(text)
        return load_job(tmp_path / "job.toml", environ=environ)

    return load


@pytest.fixture
def line(load: Load, tmp_path: Path) -> Callable[..., str]:
    """What `load_job` says about a file, from its name on."""

    def line(text: str, **environ: str) -> str:
        with pytest.raises(UserMistake) as caught:
            load(text, **environ)
        said = str(caught.value)
        assert "\n" not in said
        return said.removeprefix(f"{tmp_path}/job.toml: ")

    return line


Line = Callable[..., str]


def options_of(loaded: LoadedJob) -> tuple[dict[str, str], dict[str, str]]:
    """Those of the only source and the only sink."""
    [source], [query] = loaded.spec.sources, loaded.spec.queries
    return dict(source.options), dict(query.sink.options)


def test_every_key_of_the_kafka_table_arrives_in_the_job(load: Load, tmp_path: Path) -> None:
    text = """
[kafka]
bootstrap = "embedded"
connector = ["org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0", "jars/more.jar", "/opt/token.jar"]
topics = { clicks = 4, "web.views" = 1 }
"client.id" = "me"
kafka.max.poll.records = 500
[kafka.feeds.clicks]
rate = "constant(800)"
rows = "job.py:rows"
seed = 7
factor = 0.5
[kafka.feeds."web.views"]
csv = "rates.csv"
parquet = "/recorded"
value_format = "raw"
"""
    assert load(text + ANY_JOB).spec.kafka == KafkaSpec(
        bootstrap=EMBEDDED, options={"client.id": "me", "max.poll.records": "500"},
        connector=("org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0", f"{tmp_path}/jars/more.jar", "/opt/token.jar"), topics={"clicks": 4, "web.views": 1},
        feeds=(
            FeedSpec(topic="clicks", options={"rate": "constant(800)", "rows": "job.py:rows", "seed": "7", "factor": "0.5"}),
            FeedSpec(topic="web.views", options={"csv": f"{tmp_path}/rates.csv", "parquet": "/recorded"}, value_format="raw"),
        ),
    )  # fmt: skip


def test_a_job_without_kafka_has_none_and_a_connector_may_be_a_single_text(load: Load, tmp_path: Path) -> None:
    spec = load(ANY_JOB).spec
    assert spec.kafka == KafkaSpec() and spec.cpu_query is None
    assert spec.sources[0].options == {}
    assert load(f'kafka.connector = "a:b:1"\n{ANY_JOB}').spec.kafka.connector == ("a:b:1",)
    assert load(f'kafka.connector = "x.jar"\n{ANY_JOB}').spec.kafka.connector == (f"{tmp_path}/x.jar",)


def test_only_sources_and_sinks_of_kafka_take_over_the_brokers_and_the_client_options(load: Load) -> None:
    for brokers in ("a:9092,b:9092", EMBEDDED):
        shared = {"kafka.bootstrap.servers": brokers, "kafka.security.protocol": "SSL"}
        found = options_of(load(f'[kafka]\nbootstrap = "{brokers}"\n"security.protocol" = "SSL"\n{KAFKA_JOB}'))
        assert found == ({"subscribe": "clicks", **shared}, {"topic": "counts", **shared})
    text = TRACE + 'bootstrap = "mine"\n' + QUERY + NOOP
    assert options_of(load(f'[kafka]\nbootstrap = "embedded"\nacks = "all"\n{text}')) == ({"bootstrap": "mine"}, {})


@pytest.mark.parametrize(
    "written", ['bootstrap = "mine:1"', '"kafka.bootstrap.servers" = "mine:1"', 'kafka.bootstrap.servers = "mine:1"', 'options.bootstrap = "mine:1"']
)
def test_a_source_may_name_brokers_of_its_own_with_or_without_the_kafka_table(load: Load, written: str) -> None:
    for above in ("", '[kafka]\nbootstrap = "shared:1"\n'):
        source, _ = options_of(load(above + SOURCE + written + "\n" + QUERY + NOOP))
        assert source == {"subscribe": "clicks", "kafka.bootstrap.servers": "mine:1"}


def test_an_option_that_a_sink_has_itself_wins_whatever_its_capitals(load: Load) -> None:
    text = f'[kafka]\nbootstrap = "a:1"\nacks = "all"\n"client.id" = "shared"\n{KAFKA_JOB}"Kafka.Acks" = 1\n"KAFKA.bootstrap.servers" = "b:1"'
    _, sink = options_of(load(text))
    assert sink == {"topic": "counts", "Kafka.Acks": "1", "KAFKA.bootstrap.servers": "b:1", "kafka.client.id": "shared"}


@pytest.mark.parametrize(
    "written",
    [
        '"security.protocol" = "SSL"', 'security.protocol = "SSL"', '"kafka.security.protocol" = "SSL"', 'kafka.security.protocol = "SSL"',
        'options."security.protocol" = "SSL"',
    ],
)  # fmt: skip
def test_a_client_option_goes_with_and_without_its_prefix(load: Load, written: str) -> None:
    loaded = load(f'[kafka]\nbootstrap = "a:1"\n{written}\n{KAFKA_JOB}')
    assert loaded.spec.kafka.options == {"security.protocol": "SSL"} and options_of(loaded)[0]["kafka.security.protocol"] == "SSL"


def test_brokers_under_the_name_that_the_client_has_for_them_are_the_bootstrap(load: Load) -> None:
    for name in ("bootstrap.servers", "kafka.bootstrap.servers"):
        assert load(f'[kafka]\n"{name}" = "a:1"\ntopics.t = 1\n{KAFKA_JOB}').spec.kafka == KafkaSpec(bootstrap="a:1", topics={"t": 1})


@pytest.mark.parametrize("bootstrap", ["embedded", "a:1", "a.b-c:9092, d:9093", "[::1]:9092", "SASL_SSL://a:9093,SASL_SSL://b:9093"])
def test_brokers_are_hosts_with_ports(load: Load, bootstrap: str) -> None:
    assert load(f'kafka.bootstrap = "{bootstrap}"\n{ANY_JOB}').spec.kafka.bootstrap == bootstrap


def test_the_environment_can_give_all_of_it_and_what_it_gives_is_secret(load: Load) -> None:
    text = """
[kafka]
bootstrap = "${env:BROKERS}"
topics.clicks = "${env:PARTITIONS}"
"sasl.jaas.config" = "required username='me' password='${env:PASSWORD}';"
feeds.clicks.rate = "constant(${env:RATE})"
[cpu]
prometheus = "https://me:${env:PASSWORD}@host"
query = "up"
"""
    loaded = load(text + KAFKA_JOB, BROKERS="a:9092", PARTITIONS="3", PASSWORD="hunter2", RATE="40")
    login = "required username='me' password='hunter2';"
    feed = FeedSpec(topic="clicks", options={"rate": "constant(40)"})
    assert loaded.spec.kafka == KafkaSpec(bootstrap="a:9092", options={"sasl.jaas.config": login}, topics={"clicks": 3}, feeds=(feed,))
    assert loaded.spec.cpu_query == CpuQuery(url="https://me:hunter2@host", query="up")
    assert options_of(loaded)[1]["kafka.sasl.jaas.config"] == login
    assert {"hunter2", login} <= loaded.secrets
    assert "hunter2" not in str(loaded.declared)


def test_the_cpu_table_is_a_prometheus_query_and_executors_are_asked_unless_the_owner_says_no(load: Load) -> None:
    text = '[cpu]\nprometheus = "http://prometheus:9090"\nquery = "sum by (pod) (x)"\nlabel = "pod"\n'
    assert load(text + ANY_JOB).spec.cpu_query == CpuQuery(url="http://prometheus:9090", query="sum by (pod) (x)", label="pod")
    assert load(ANY_JOB).spec.ask_executors_cpu
    asked_no_one = load("[cpu]\nask_executors = false\n" + ANY_JOB).spec
    assert not asked_no_one.ask_executors_cpu and asked_no_one.cpu_query is None
    far = replace(asked_no_one, master="spark://far:7077")
    assert not reports_cpu(far) and reports_cpu(replace(far, ask_executors_cpu=True))


def test_the_arrival_field_is_a_key_of_the_sink_and_no_option(load: Load) -> None:
    assert load(ANY_JOB + 'arrival_field = "came"').spec.queries[0].sink == SinkSpec(format="noop", arrival_field="came")
    assert load(ANY_JOB).spec.queries[0].sink.arrival_field == "arrival"


@pytest.mark.parametrize("written", ['"realtime:5s"', '{ real_time = "5s" }', "{ real_time = 5 }"])
def test_a_real_time_trigger_of_5_seconds_is_allowed(load: Load, written: str) -> None:
    assert load(TRACE + QUERY + f"trigger = {written}\n" + NOOP).spec.queries[0].trigger == Trigger(kind="real_time", interval_s=5)


@pytest.mark.parametrize("written", ['"realtime:4s"', '{ real_time = "4999ms" }'])
def test_a_shorter_one_is_refused_as_spark_would(line: Line, written: str) -> None:
    said = line(TRACE + QUERY + f"trigger = {written}\n" + NOOP)
    assert said == f"queries.a.trigger: found {written}, a batch duration of at least 5s is allowed in Real-Time Mode"


MISTAKES = [
    ('bootstrap = "localhost"', f'kafka.bootstrap: found "localhost", {BOOTSTRAP} is allowed'),
    ('bootstrap = "embedded,a:1"', f'kafka.bootstrap: found "embedded,a:1", {BOOTSTRAP} is allowed'),
    ("bootstrap = 9092", f"kafka.bootstrap: found 9092, {BOOTSTRAP} is allowed"),
    ('bootstrap = "a:1"\n"bootstrap.servers" = "b:1"', 'kafka: found both bootstrap and "bootstrap.servers", one of the two is allowed'),
    ("connector = []", f"kafka.connector: found an empty list, {CONNECTOR} is allowed"),
    ('connector = "spark-sql-kafka"', f'kafka.connector: found "spark-sql-kafka", {CONNECTOR} is allowed'),
    ('connector = ["a:b:1", 2]', f'kafka.connector: found ["a:b:1", 2], {CONNECTOR} is allowed'),
    ("acks = [1]", "kafka.acks: found [1], a text, a number, true or false is allowed"),
    ('acks = 1\n"kafka.acks" = 2', 'kafka: the option "acks" is there twice, with and without "kafka." before it'),
    ("topic = { a = 1 }", 'kafka.topic: unknown key, did you mean "topics"?'),
    ('[kafka.feed.a]\nrate = "noise"', 'kafka.feed: unknown key, did you mean "feeds"?'),
    ("topics = { a = 4 }", f"kafka.bootstrap: missing, {BOOTSTRAP} is needed for topics and feeds"),
    ('bootstrap = "embedded"\ntopics = 4', "kafka.topics: found 4, a table is allowed"),
    ('bootstrap = "embedded"\ntopics = { a = 0 }', "kafka.topics.a: found 0, a whole number of at least 1 is allowed"),
    ('bootstrap = "embedded"\ntopics = { "a b" = 1 }', f'kafka.topics."a b": {TOPIC}'),
    ('bootstrap = "embedded"\ntopics = { ".." = 1 }', f'kafka.topics."..": {TOPIC}'),
    (f'bootstrap = "embedded"\ntopics = {{ {"x" * 250} = 1 }}', f"kafka.topics.{'x' * 250}: {TOPIC}"),
]


@pytest.mark.parametrize(("text", "said"), MISTAKES)
def test_a_mistake_in_the_kafka_table_is_one_line(line: Line, text: str, said: str) -> None:
    assert line(f"[kafka]\n{text}\n{ANY_JOB}") == said


IN_A_FEED = [
    ("", "kafka.feeds.clicks: found neither rate nor csv, one of the two is needed"),
    ('rate = ""', "kafka.feeds.clicks: found neither rate nor csv, one of the two is needed"),
    ('rate = "noise"\ncsv = "a.csv"', "kafka.feeds.clicks: found both rate and csv, one of the two is needed"),
    ('rate = "noise"\nvalue_format = "avro"', 'kafka.feeds.clicks.value_format: found "avro", one of "json", "raw" is allowed'),
    ('rate = ["noise"]', 'kafka.feeds.clicks.rate: found ["noise"], a text, a number, true or false is allowed'),
    ('rate = "noise"\nseeds = 1', 'kafka.feeds.clicks.seeds: unknown key, did you mean "seed"?'),
    *(
        (f'rate = "noise"\n{name} = 4', f"kafka.feeds.clicks.{name}: unknown key, allowed are {FEED_KEYS}")
        for name in ("partitions", "max_rows_per_batch", "state", "folder", "topic")
    ),
]


@pytest.mark.parametrize(("text", "said"), IN_A_FEED)
def test_a_mistake_in_a_feed_is_one_line(line: Line, text: str, said: str) -> None:
    assert line(f'[kafka]\nbootstrap = "embedded"\ntopics.clicks = 4\n[kafka.feeds.clicks]\n{text}\n{ANY_JOB}') == said


def test_a_feed_needs_its_topic_among_the_topics(line: Line) -> None:
    said = line(f'[kafka]\nbootstrap = "embedded"\ntopics.views = 1\nfeeds.clicks.rate = "noise"\n{ANY_JOB}')
    assert said == "kafka.feeds.clicks: this topic is not in kafka.topics, its number of partitions is needed there"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SOURCE + QUERY + NOOP, f"sources.clicks.bootstrap: missing, {BOOTSTRAP} is needed, here or in [kafka]"),
        (TRACE + QUERY + SINK, f"queries.a.sink.bootstrap: missing, {BOOTSTRAP} is needed, here or in [kafka]"),
        (SOURCE + 'bootstrap = "host"\n' + QUERY + NOOP, f'sources.clicks.bootstrap: found "host", {BOOTSTRAP} is allowed'),
        (SOURCE + 'options.bootstrap = "host"\n' + QUERY + NOOP, f'sources.clicks.options.bootstrap: found "host", {BOOTSTRAP} is allowed'),
        (
            SOURCE + 'bootstrap = "a:1"\n"kafka.bootstrap.servers" = "a:1"\n' + QUERY + NOOP,
            'sources.clicks: found both bootstrap and "kafka.bootstrap.servers", one of the two is allowed',
        ),
        (ANY_JOB + "arrival_field = 5", "queries.a.sink.arrival_field: found 5, the name of a header or of a JSON field is allowed"),
    ],
)
def test_a_mistake_in_a_kafka_source_or_sink_is_one_line(line: Line, text: str, said: str) -> None:
    assert line(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('query = "up"', 'cpu.prometheus: missing, an address such as "http://prometheus:9090" is needed'),
        ('prometheus = "http://p"', 'cpu.query: missing, a Prometheus query such as "sum by (executor_id) (rate(...[1m]))" is needed'),
        ('prometheus = "p:9090"\nquery = "up"', 'cpu.prometheus: found "p:9090", an address such as "http://prometheus:9090" is allowed'),
        ('prometheus = "http://p"\nquery = "up"\nlabel = "a b"', 'cpu.label: found "a b", the name of a label is allowed'),
        ("ask_executors = 3", "cpu.ask_executors: found 3, true or false is allowed"),
        ('url = "http://p"', "cpu.url: unknown key, allowed are ask_executors, prometheus, query, label"),
    ],
)
def test_a_mistake_in_the_cpu_table_is_one_line(line: Line, text: str, said: str) -> None:
    assert line(f"[cpu]\n{text}\n{ANY_JOB}") == said


@pytest.mark.parametrize(
    "text",
    [
        '[kafka]\nbootstrap = "${env:S}"\n' + ANY_JOB, '[kafka]\nconnector = ["${env:S}"]\n' + ANY_JOB,
        '[kafka]\nbootstrap = "embedded"\ntopics.a = "${env:S}"\n' + ANY_JOB,
        '[kafka]\nbootstrap = "embedded"\ntopics.a = 1\nfeeds.a = { rate = "${env:S}", csv = "${env:S}" }\n' + ANY_JOB,
        '[kafka]\nbootstrap = "embedded"\ntopics.a = 1\nfeeds.a = { rate = "noise", value_format = "${env:S}" }\n' + ANY_JOB,
        '[kafka]\n"sasl.jaas.config" = "${env:S}"\n"kafka.sasl.jaas.config" = "${env:S}"\n' + ANY_JOB, SOURCE + 'bootstrap = "${env:S}"\n' + QUERY + NOOP,
        SOURCE + 'options.bootstrap = "${env:S}"\n' + QUERY + NOOP, '[cpu]\nprometheus = "${env:S}"\nquery = "up"\n' + ANY_JOB,
    ],
)  # fmt: skip
def test_no_mistake_shows_what_a_secret_resolves_to(line: Line, text: str) -> None:
    assert "hunter2 never" not in line(text, S="hunter2 never to be seen")


names = st.sampled_from(["clicks", "web.views", "counts"])
client_options = st.dictionaries(st.sampled_from(["acks", "client.id", "kafka.client.id", "security.protocol"]), st.sampled_from(["all", 1, True]), max_size=2)
tables = st.fixed_dictionaries(
    {},
    optional={
        "bootstrap": st.sampled_from(["embedded", "a:1", "a:1,b:2"]),
        "topics": st.dictionaries(names, st.integers(0, 20), max_size=3),
        "feeds": st.dictionaries(names, st.just({"rate": "noise"}), max_size=2),
        "options": client_options,
    },
)


def in_toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}" = {in_toml(each)}' for key, each in value.items()) + "}"
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(table=tables)
def test_a_kafka_table_is_right_just_when_its_parts_go_together_and_then_all_of_it_arrives(load: Load, table: dict[str, Any]) -> None:
    topics, options = table.get("topics", {}), table.get("options", {})
    is_right = (
        "bootstrap" in table and all(topics.values()) and set(table.get("feeds", {})) <= set(topics) and not {"client.id", "kafka.client.id"} <= set(options)
    )
    text = f"kafka = {in_toml(table)}\n{KAFKA_JOB}"
    if not is_right:
        with pytest.raises(UserMistake):
            load(text)
        return
    loaded = load(text)
    assert loaded.spec.kafka.topics == topics
    source, sink = options_of(loaded)
    shared = {f"kafka.{name}": value for name, value in {"bootstrap.servers": table["bootstrap"], **loaded.spec.kafka.options}.items()}
    assert (source, sink) == ({"subscribe": "clicks", **shared}, {"topic": "counts", **shared})
    assert len(shared) == 1 + len(options)


def test_the_examples_of_the_documentation_are_right(load: Load) -> None:
    text = (Path(__file__).parents[3] / "docs" / "job-file.md").read_text()
    section = text[text.index("\n## Kafka\n") : text.index("\n## `[autopilot]`")]
    whole, *parts = re.findall(r"```toml\n(.+?)```", section, re.DOTALL)
    (Path(load(whole).spec.folder) / "trust").write_text("secret")
    assert load(whole).spec.kafka.feeds[0].topic == "clicks"
    assert parts
    for part in parts:
        loaded = load(part.replace("${file:/run/secrets/trust}", "${file:trust}") + ANY_JOB, KAFKA_PASSWORD="hunter2")
        assert loaded.spec.kafka != KafkaSpec() or loaded.spec.cpu_query is not None
