"""Build the job of a job file from its tables, with the checks that span several tables."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from penstock.core.config import USUAL_READING_S, Config
from penstock.core.domain.configuration import QueryConfiguration, refuse_together
from penstock.core.domain.job_spec import CpuQuery, FeedSpec, JobSpec, KafkaSpec, Limits, Promises, QuerySpec, SinkSpec, SourceSpec
from penstock.core.domain.knobs import KNOBS
from penstock.runtime.jobfile import kinds
from penstock.runtime.jobfile.autopilot_table import AutopilotBuilder, limits_words
from penstock.runtime.jobfile.mistakes import Mistakes
from penstock.runtime.jobfile.spark_options import absolute, code, files_from, flat_options
from penstock.runtime.jobfile.tables import CpuTable, FeedTable, JobTable, KafkaTable, LimitsTable, QueryTable, SinkTable, SourceTable
from penstock.runtime.secrets import Keys

PREFIX = "kafka."
SERVERS = "bootstrap.servers"
_OWN_KEYS = ("bootstrap", "connector", "topics", "feeds")
_TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaBuilder:
    """Builds the Kafka of a job; relative paths start from `folder`, mistakes are added to `mistakes`."""

    folder: Path
    mistakes: Mistakes

    def kafka(self, table: KafkaTable) -> KafkaSpec:
        options = self._client_options(table)
        servers = options.pop(SERVERS, None)
        if servers is not None and table.bootstrap is not None:
            self.mistakes.add(("kafka",), f'found both bootstrap and "{SERVERS}", one of the two is allowed')
        bootstrap = table.bootstrap or servers
        if bootstrap is None and (table.topics or table.feeds):
            self.mistakes.add(("kafka", "bootstrap"), f"missing, {kinds.BOOTSTRAP.allowed} is needed for topics and feeds")
        self._check_topics(table)
        return KafkaSpec(
            bootstrap=bootstrap,
            options=options,
            connector=tuple(absolute(self.folder, each) if each.endswith(".jar") else each for each in table.connector),
            topics=table.topics,
            feeds=tuple(self._feed(topic, each) for topic, each in table.feeds.items()),
        )

    def with_shared(self, options: Mapping[str, str], kafka: KafkaSpec, keys: Keys) -> dict[str, str]:
        """Return the options of the Kafka source or sink at `keys`, with those of `[kafka]` that it does not set; Spark ignores case."""
        own = self._shorthand_written_out(options, keys)
        given = {name.lower() for name in own}
        everywhere = {SERVERS: kafka.bootstrap, **kafka.options}
        taken_over = {PREFIX + name: value for name, value in everywhere.items() if value is not None and (PREFIX + name).lower() not in given}
        if PREFIX + SERVERS not in given | set(taken_over):
            self.mistakes.add((*keys, "bootstrap"), f"missing, {kinds.BOOTSTRAP.allowed} is needed, here or in [kafka]")
        return own | taken_over

    def _shorthand_written_out(self, options: Mapping[str, str], keys: Keys) -> dict[str, str]:
        own = dict(options)
        bootstrap = own.pop("bootstrap", None)
        if bootstrap is None:
            return own
        beside, inside = (*keys, "bootstrap"), (*keys, "options", "bootstrap")
        if PREFIX + SERVERS in {name.lower() for name in own}:
            self.mistakes.add(keys, f'found both bootstrap and "{PREFIX}{SERVERS}", one of the two is allowed')
        elif not re.fullmatch(kinds.BOOTSTRAP_PATTERN, bootstrap):
            self.mistakes.found(inside if self.mistakes.declared(beside) is None else beside, kinds.BOOTSTRAP.allowed)
        return {PREFIX + SERVERS: bootstrap, **own}

    def _client_options(self, table: KafkaTable) -> dict[str, str]:
        extra = table.model_extra or {}
        for key in extra:
            if get_close_matches(key, _OWN_KEYS, n=1, cutoff=0.8):
                self.mistakes.unknown(("kafka", key), _OWN_KEYS)
        beside = flat_options(extra, ("kafka",), self.mistakes)
        written = flat_options(table.options, ("kafka", "options"), self.mistakes, seen=beside)
        options: dict[str, str] = {}
        for name, value in written.items():
            short = _without_prefix(name)
            if short in options:
                self.mistakes.add(("kafka",), f'the option "{short}" is there twice, with and without "{PREFIX}" before it')
            options[short] = value
        return options

    def _check_topics(self, table: KafkaTable) -> None:
        for topic in {**table.topics, **table.feeds}:
            keys = ("kafka", "topics" if topic in table.topics else "feeds", topic)
            if not _TOPIC.fullmatch(topic):
                self.mistakes.add(keys, 'a topic of at most 249 letters, digits, ".", "_" and "-" is allowed (not "." or ".." alone)')
            elif topic not in table.topics:
                self.mistakes.add(keys, "this topic is not in kafka.topics, its number of partitions is needed there")

    def _feed(self, topic: str, table: FeedTable) -> FeedSpec:
        options: dict[str, str] = table.model_dump(exclude={"value_format"}, exclude_none=True)
        if bool(options.get("rate")) == bool(options.get("csv")):
            found = "both rate and csv" if options.get("rate") else "neither rate nor csv"
            self.mistakes.add(("kafka", "feeds", topic), f"found {found}, one of the two is needed")
        return FeedSpec(topic=topic, options=files_from(self.folder, options), value_format=table.value_format)


def _without_prefix(name: str) -> str:
    """Return the name of an option for Kafka's client.

    >>> _without_prefix("kafka.security.protocol"), _without_prefix("sasl.kerberos.service.name")
    ('security.protocol', 'sasl.kerberos.service.name')
    """
    return name[len(PREFIX) :] if name.lower().startswith(PREFIX) else name


_EMBEDDED_READING_INTERVAL_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Builder:
    """Builds a job whose relative paths start from `folder`; what is wrong goes to `mistakes`."""

    folder: Path
    mistakes: Mistakes

    def job(self, table: JobTable, default_name: str) -> JobSpec:
        self._check(table)
        kafka = self._kafka.kafka(table.kafka)
        limits = self._limits(table.limits)
        autopilot = AutopilotBuilder(folder=self.folder, mistakes=self.mistakes)
        spec = JobSpec(
            name=table.name or default_name, folder=str(self.folder), checkpoint=absolute(self.folder, table.checkpoint),
            sources=tuple(self._source(name, each, kafka) for name, each in table.sources.items()),
            queries=tuple(self._query(name, each, table.sources, kafka) for name, each in table.queries.items()), master=table.master, limits=limits,
            promises=Promises(latency_p95_s=table.promises.latency_p95, recovery_s=table.promises.recovery),
            autopilot=autopilot.autopilot(table.autopilot, limits), profile=autopilot.profile(table.autopilot), config=_config(table),
            spark_conf=self._spark_conf(table), metrics_address=table.metrics, kafka=kafka, cpu_query=self._cpu_query(table.cpu),
            ask_executors_cpu=table.cpu.ask_executors,
        )  # fmt: skip
        check_targets(spec, self.mistakes)
        return spec

    @property
    def _kafka(self) -> KafkaBuilder:
        return KafkaBuilder(folder=self.folder, mistakes=self.mistakes)

    def _check(self, table: JobTable) -> None:
        if not table.queries:
            self.mistakes.add(("queries",), "there is none, a job needs a [query] table, or [queries.NAME] tables")
        if not table.sources:
            self.mistakes.add(("sources",), "there is none, a job needs a [source] table, or [sources.NAME] tables")

    def _limits(self, table: LimitsTable) -> Limits:
        limits = Limits(min_executors=table.min_executors, max_executors=table.max_executors, start_executors=table.start_executors)
        lowest, highest = limits_words(limits, self.mistakes)
        if table.min_executors > table.max_executors:
            self.mistakes.found(("limits", "min_executors"), f"at most {highest}")
        elif not table.min_executors <= limits.first <= table.max_executors:
            self.mistakes.found(("limits", "start_executors"), f"a whole number from {lowest} to {highest}")
        return limits

    def _source(self, name: str, table: SourceTable, kafka: KafkaSpec) -> SourceSpec:
        options = self._options(table, ("sources", name), kafka)
        return SourceSpec(name=name, format=table.format, options=options, schema=table.schema_, arrival_column=table.arrival_column)

    def _query(self, name: str, table: QueryTable, sources: Collection[str], kafka: KafkaSpec) -> QuerySpec:
        keys = ("queries", name)
        if misfit := KNOBS["trigger"].refuse(table.trigger):
            self.mistakes.add((*keys, "trigger"), f"found {self.mistakes.shown((*keys, 'trigger'))}, {misfit}")
        if misfit := refuse_together(QueryConfiguration(trigger=table.trigger, rate_limit_rows_per_s=table.rate_limit)):
            self.mistakes.add((*keys, "rate_limit"), misfit)
        return QuerySpec(
            name=name, function=code(self.folder, table.function, (*keys, "function"), self.mistakes), sources=self._sources_of(table, keys, sources),
            sink=self._sink(table.sink, (*keys, "sink"), kafka), trigger=table.trigger, rate_limit_rows_per_s=table.rate_limit, output_mode=table.output_mode,
            priority=table.priority, minimum_accuracy=table.minimum_accuracy,
        )  # fmt: skip

    def _sources_of(self, table: QueryTable, query: Keys, there_are: Collection[str]) -> tuple[str, ...]:
        keys = (*query, "sources")
        listed = ", ".join(there_are) or "none"
        if table.sources is None:
            if len(there_are) > 1:
                self.mistakes.add(keys, f"missing, name those of the {len(there_are)} sources that this query reads ({listed})")
            return tuple(there_are)
        for index, name in enumerate(table.sources):
            shown = self.mistakes.shown((*keys, index))
            if name not in there_are:
                self.mistakes.add(keys, f"found {shown}, there is no such source; there are {listed}")
            elif name in table.sources[:index]:
                self.mistakes.add(keys, f"found {shown} twice, each source once is allowed")
        return table.sources

    def _sink(self, table: SinkTable, keys: Keys, kafka: KafkaSpec) -> SinkSpec:
        if (table.format is None) == (table.foreach_batch is None):
            found = "neither format nor foreach_batch" if table.format is None else "both format and foreach_batch"
            self.mistakes.add(keys, f"found {found}, one of the two is needed")
        options = self._options(table, keys, kafka)
        for name in options:
            if name.lower() == "checkpointlocation":
                self.mistakes.add(keys, f'found the option "{name}", only "checkpoint" at the top of the file is allowed: every query has its folder in there')
        foreach_batch = table.foreach_batch and code(self.folder, table.foreach_batch, (*keys, "foreach_batch"), self.mistakes)
        return SinkSpec(format=table.format, options=options, foreach_batch=foreach_batch, arrival_field=table.arrival_field)

    def _options(self, table: SourceTable | SinkTable, keys: Keys, kafka: KafkaSpec) -> dict[str, str]:
        beside = flat_options(table.model_extra or {}, keys, self.mistakes)
        options = files_from(self.folder, flat_options(table.options, (*keys, "options"), self.mistakes, seen=beside))
        if table.format == "kafka":
            return self._kafka.with_shared(options, kafka, keys)
        return options

    def _cpu_query(self, table: CpuTable) -> CpuQuery | None:
        if not table.model_fields_set - {"ask_executors"}:
            return None
        for name, kind in (("prometheus", kinds.URL), ("query", kinds.QUERY)):
            if name not in table.model_fields_set:
                self.mistakes.add(("cpu", name), f"missing, {kind.allowed} is needed")
        return CpuQuery(url=table.prometheus or "", query=table.query or "", label=table.label)

    def _spark_conf(self, table: JobTable) -> dict[str, str]:
        conf = flat_options(table.spark, ("spark",), self.mistakes)
        for name in conf:
            if not name.startswith("spark."):
                self.mistakes.add(("spark", name), 'a name that starts with "spark." is allowed (Hadoop\'s with "spark.hadoop.")')
        return conf


def _config(table: JobTable) -> Config:
    interval_s = _EMBEDDED_READING_INTERVAL_S if table.master == "embedded" else USUAL_READING_S
    return Config(**{"reading_interval_s": interval_s, **table.settings.model_dump(exclude_unset=True)})


def check_targets(spec: JobSpec, mistakes: Mistakes) -> None:
    """Refuse promises that no number of executors can keep: a recovery within the downtime, a latency below the trigger interval."""
    recovery_s, latency_s, downtime_s = spec.promises.recovery_s, spec.promises.latency_p95_s, spec.autopilot.downtime_s
    if recovery_s is not None and downtime_s is not None and recovery_s <= downtime_s:
        downtime = mistakes.shown(("autopilot", "downtime"))
        mistakes.found(("promises", "recovery"), f"no number of executors can keep it: more than autopilot.downtime ({downtime})")
    for query in spec.queries:
        if latency_s is not None and query.trigger.kind == "processing_time" and latency_s < query.trigger.interval_s:
            trigger = ("queries", query.name, "trigger")
            mistakes.found(("promises", "latency_p95"), f"no number of executors can keep it: at least {mistakes.where(trigger)} ({mistakes.shown(trigger)})")
