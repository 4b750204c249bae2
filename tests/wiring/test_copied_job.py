from dataclasses import replace
from pathlib import Path

import pytest

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.configuration import Configuration, QueryConfiguration
from penstock.core.domain.job_spec import FeedSpec, JobSpec, KafkaSpec, Limits, QuerySpec, SinkSpec, SourceSpec
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.stores.codec import decode, encode
from penstock.wiring.copied_job import CopiedJob, copied

SERVERS = "kafka.bootstrap.servers"
FOLDER = Path("/x/copy")


def job(sink: SinkSpec, *, bootstrap: str = "broker:9092", **options: str) -> JobSpec:
    source = SourceSpec(name="in", format="kafka", options={"subscribe": "clicks, views", SERVERS: bootstrap, "kafka.group.id": "mine", **options})
    kafka = KafkaSpec(bootstrap=bootstrap, topics={"clicks": 4, "out": 1}, feeds=(FeedSpec(topic="clicks", options={"rate": "constant(1)"}),))
    query = QuerySpec(name="q", function="job.py:q", sources=("in",), sink=sink)
    conf = {"spark.eventLog.dir": "/logs", "spark.eventLog.enabled": "true", "spark.a": "b"}
    return JobSpec(
        name="j", folder="/jobs", checkpoint="/jobs/c", sources=(source,), queries=(query,), kafka=kafka, spark_conf=conf, metrics_address="1.2.3.4:5"
    )


def copy_of(spec: JobSpec, configuration: Configuration = Configuration(executors=6)) -> CopiedJob:  # noqa: B008
    return copied(spec, "j-copy-1", FOLDER, configuration, Autopilot())


def test_a_copy_has_a_name_a_checkpoint_and_settings_of_its_own() -> None:
    spec = copy_of(replace(job(SinkSpec(format="noop")), limits=Limits(min_executors=2, max_executors=4))).spec
    assert (spec.name, spec.checkpoint, spec.master, spec.metrics_address, spec.mode) == ("j-copy-1", "/x/copy/checkpoint", "embedded", None, "observe")
    assert spec.limits == Limits(min_executors=2, max_executors=6, start_executors=6) and spec.spark_conf == {"spark.a": "b"}
    assert spec.folder == "/jobs", "its code is the job's"


@pytest.mark.parametrize("kind", ["parquet", "json", "ledger"])
def test_a_sink_of_files_goes_to_the_folder_of_the_copy(kind: str) -> None:
    (query,) = copy_of(job(SinkSpec(format=kind, options={"Path": "/jobs/out", "compression": "none"}))).spec.queries
    assert query.sink.options == {"path": "/x/copy/sinks/q", "compression": "none"}


@pytest.mark.parametrize("options", [{"Topic": "out"}, {}], ids=["an option", "a column"])
def test_on_the_brokers_of_the_job_a_copy_writes_and_feeds_topics_of_its_own(options: dict[str, str]) -> None:
    copy = copy_of(job(SinkSpec(format="kafka", options={SERVERS: "broker:9092", **options})))
    (query,), (source,), kafka = copy.spec.queries, copy.spec.sources, copy.spec.kafka
    written = "j-copy-1-out" if options else "j-copy-1-q"
    assert query.sink.options["topic"] == written and "Topic" not in query.sink.options
    assert source.options == {"subscribe": "j-copy-1-clicks,views", SERVERS: "broker:9092"}, "what the job does not feed is read where it is"
    assert dict(kafka.topics) == {"j-copy-1-clicks": 4, **({"j-copy-1-out": 1} if options else {})} and [feed.topic for feed in kafka.feeds] == [
        "j-copy-1-clicks"
    ]
    assert copy.topics == ((written, {"bootstrap.servers": "broker:9092"}), ("j-copy-1-clicks", {"bootstrap.servers": "broker:9092"}))


def test_with_a_broker_of_its_own_the_topics_keep_their_names() -> None:
    copy = copy_of(job(SinkSpec(format="kafka", options={SERVERS: "embedded", "topic": "out"}), bootstrap="embedded"))
    assert copy.spec.queries[0].sink.options["topic"] == "out" and copy.topics == ()
    assert dict(copy.spec.kafka.topics) == {"clicks": 4, "out": 1}


@pytest.mark.parametrize("sink", [SinkSpec(foreach_batch="job.py:write"), SinkSpec(format="delta", options={"path": "/o"})], ids=["foreachBatch", "delta"])
def test_a_sink_that_cannot_be_redirected_is_refused_in_one_line(sink: SinkSpec) -> None:
    with pytest.raises(UserMistake, match=r"queries\.q\.sink: .* cannot be redirected") as refused:
        copy_of(job(sink))
    assert "\n" not in str(refused.value)


def test_the_knobs_of_the_configuration_are_the_queries_own_and_all_of_it_can_be_sent_to_another_process() -> None:
    knobs = QueryConfiguration(trigger=Trigger(interval_s=3.0), rate_limit_rows_per_s=50.0, partitions=7)
    copy = copy_of(job(SinkSpec(format="noop")), Configuration(executors=1, queries={"q": knobs}))
    (query,) = copy.spec.queries
    assert (query.trigger, query.rate_limit_rows_per_s, query.partitions) == (Trigger(interval_s=3.0), 50.0, 7)
    assert decode(CopiedJob, encode(copy)) == copy
    with pytest.raises(UserMistake, match="shed"):
        copy_of(job(SinkSpec(format="noop")), Configuration(executors=1, queries={"q": QueryConfiguration(kept_share=0.5)}))
