"""The `[kafka]` table of a job file, and the options that every Kafka source and sink inherits from it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from penstock.core.domain.job import FeedSpec, KafkaSpec
from penstock.runtime.jobfile import kinds
from penstock.runtime.jobfile.mistakes import Mistakes
from penstock.runtime.jobfile.spark_options import absolute, files_from, flat_options
from penstock.runtime.jobfile.tables import FeedTable, KafkaTable
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
