"""What a copy of a job runs: the job's own code and rows, with a name, checkpoint, sinks and topics of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.job_spec import EMBEDDED, JobSpec, KafkaSpec, Limits, QuerySpec, SinkSpec, SourceSpec
from penstock.core.errors import UserMistake
from penstock.kafka.options import client_options, java_options
from penstock.wiring.job_kafka import says_embedded

FOLDER_SINKS = ("parquet", "json", "csv", "orc", "text", "ledger")
OUTSIDE_SINKS = ("noop", "memory", "console")
"""They leave nothing behind."""
OWN_SETTINGS = ("spark.app.name", "spark.eventLog.", "spark.local.dir")
"""Spark settings by which a copy would write where the job does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedJob:
    """A copy's spec, and the topics that it makes on brokers that are not its own, each with the client's options."""

    spec: JobSpec
    topics: tuple[tuple[str, Mapping[str, str]], ...] = ()


def copied(spec: JobSpec, name: str, folder: Path, configuration: Configuration, autopilot: Autopilot) -> CopiedJob:
    """Return the copy of a job that runs on the embedded cluster with this configuration and writes to `folder` only; `UserMistake` if it cannot."""
    unknown = [each for each in configuration.queries if each not in [query.name for query in spec.queries]]
    if unknown:
        raise UserMistake(f'there is no query "{unknown[0]}" in the job {spec.name}')
    executors, own = configuration.executors, own_topics(spec, name)
    limits = Limits(min_executors=min(spec.limits.min_executors, executors), max_executors=max(spec.limits.max_executors, executors), start_executors=executors)
    queries = tuple(with_knobs(replace(query, sink=redirected(query, name, folder)), configuration) for query in spec.queries)
    written = [
        (query.sink.options["topic"], java_options(query.sink.options)) for query in queries if query.sink.format == "kafka" and "topic" in query.sink.options
    ]
    fed = [(topic, {"bootstrap.servers": spec.kafka.bootstrap or "", **spec.kafka.options}) for topic in (own[feed.topic] for feed in spec.kafka.feeds if own)]
    copy = replace(
        spec,
        name=name,
        master="embedded",
        checkpoint=str(folder / "checkpoint"),
        sources=tuple(with_own_topics(source, own) for source in spec.sources),
        queries=queries,
        limits=limits,
        autopilot=autopilot,
        spark_conf={key: value for key, value in spec.spark_conf.items() if not key.startswith(OWN_SETTINGS)},
        metrics_address=None,
        kafka=with_own_feeds(spec.kafka, own),
    )
    return CopiedJob(spec=copy, topics=tuple((topic, client_options(java)) for topic, java in (*written, *fed) if topic.startswith(f"{name}-")))


def with_knobs(query: QuerySpec, configuration: Configuration) -> QuerySpec:
    knobs = configuration.queries.get(query.name)
    if knobs is None:
        return query
    if knobs.kept_share < 1.0:
        raise UserMistake(f'query "{query.name}": found a kept share of {knobs.kept_share:g}, a copy does not shed rows yet')
    return replace(query, trigger=knobs.trigger, rate_limit_rows_per_s=knobs.rate_limit_rows_per_s, partitions=knobs.partitions)


def redirected(query: QuerySpec, name: str, folder: Path) -> SinkSpec:
    """Return the sink of the copy's query, which is never the job's own."""
    sink, options = query.sink, {key.lower() if key.lower() in ("path", "topic") else key: value for key, value in query.sink.options.items()}
    if sink.format in OUTSIDE_SINKS:
        return sink
    if sink.format in FOLDER_SINKS:
        return replace(sink, options={**options, "path": str(folder / "sinks" / query.name)})
    if sink.format == "kafka":
        # The option wins over a column "topic", so that rows cannot choose a topic of the job.
        is_own = any(says_embedded(*option) for option in options.items())
        return sink if is_own and "topic" in options else replace(sink, options={**options, "topic": f"{name}-{options.get('topic', query.name)}"})
    what = "foreach_batch" if sink.foreach_batch else f'the format "{sink.format}"'
    raise UserMistake(
        f"queries.{query.name}.sink: {what} cannot be redirected, so a copy would write where the job does; a copy needs a file, Kafka or ledger sink"
    )


def with_own_topics(source: SourceSpec, own: Mapping[str, str]) -> SourceSpec:
    """Return the source with the copy's topics in place of those that the job feeds, and without a consumer group that it would share with the job."""
    if source.format != "kafka":
        return source
    options = {key: value for key, value in source.options.items() if key.lower() != "kafka.group.id"}
    names = [key for key in options if key.lower() == "subscribe"]
    renamed = {key: ",".join(own.get(topic.strip(), topic.strip()) for topic in options[key].split(",")) for key in names}
    return replace(source, options={**options, **renamed})


def own_topics(spec: JobSpec, name: str) -> dict[str, str]:
    """Return the copy's names of the topics that the job feeds or writes on its brokers; none if the broker is the copy's own."""
    if spec.kafka.bootstrap == EMBEDDED:
        return {}
    sinks = [query.sink for query in spec.queries if java_options(query.sink.options).get("bootstrap.servers") == spec.kafka.bootstrap]
    written = [value for sink in sinks for key, value in sink.options.items() if key.lower() == "topic"]
    return {topic: f"{name}-{topic}" for topic in (*(feed.topic for feed in spec.kafka.feeds), *written)}


def with_own_feeds(kafka: KafkaSpec, own: Mapping[str, str]) -> KafkaSpec:
    """Return the Kafka of a copy: of the job's brokers it makes only its own topics, with as many partitions as the job's have."""
    if kafka.bootstrap == EMBEDDED:
        return kafka
    topics = {own[topic]: count for topic, count in kafka.topics.items() if topic in own}
    return replace(kafka, topics=topics, feeds=tuple(replace(feed, topic=own[feed.topic]) for feed in kafka.feeds))
