"""The tables of a job file and the kinds of their values."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot, Guards, Mode, Only
from penstock.core.domain.hours import Hours
from penstock.core.domain.trigger import Trigger
from penstock.runtime.jobfile import kinds
from penstock.trace.state import KNOWN


class Table(BaseModel):
    """A table in which every key has a meaning."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class OptionsTable(Table):
    """A table whose unknown keys are options for Spark; those under `options` are too."""

    model_config = ConfigDict(extra="allow", frozen=True)

    options: dict[str, Any] = {}


class LimitsTable(Table):
    min_executors: Annotated[int, kinds.whole_number(1)] = 1
    max_executors: Annotated[int, kinds.whole_number(1)] = 4
    start_executors: Annotated[int | None, kinds.whole_number(1)] = None


class PromisesTable(Table):
    latency_p95: Annotated[float | None, kinds.DURATION] = None
    recovery: Annotated[float | None, kinds.DURATION] = None


class SourceTable(OptionsTable):
    format: Annotated[str, kinds.text('a format such as "trace", "kafka" or "parquet"')]
    schema_: Annotated[str | None, kinds.text('columns such as "a INT, b STRING"')] = Field(default=None, alias="schema")
    arrival_column: Annotated[str | None, kinds.text("the name of a column")] = None


class SinkTable(OptionsTable):
    format: Annotated[str | None, kinds.text('a format such as "parquet", "kafka" or "console"')] = None
    foreach_batch: Annotated[str | None, kinds.FUNCTION] = None
    arrival_field: Annotated[str, kinds.text("the name of a header or of a JSON field")] = "arrival"


class QueryTable(Table):
    function: Annotated[str, kinds.FUNCTION]
    sources: Annotated[tuple[str, ...] | None, kinds.SOURCE_NAMES] = None
    trigger: Annotated[Trigger, kinds.TRIGGER] = Trigger()
    rate_limit: Annotated[float | None, kinds.RATE] = None
    output_mode: Annotated[str, kinds.one_of("append", "update", "complete")] = "append"
    priority: Annotated[int, kinds.whole_number(1)] = 1
    minimum_accuracy: Annotated[float, kinds.number(0, 1)] = 1.0
    sink: SinkTable


class AnyFeedTable(Table):
    value_format: Annotated[str, kinds.one_of("json", "raw")] = "json"


_OF_A_SPARK_SOURCE = frozenset({"max_rows_per_batch", "partitions", "state", "folder"})
_TRACE_OPTIONS: dict[str, Any] = {each: (Annotated[str | None, kinds.OPTION], None) for each in KNOWN if each not in _OF_A_SPARK_SOURCE}

if TYPE_CHECKING:
    FeedTable = AnyFeedTable
else:
    FeedTable = create_model("FeedTable", __base__=AnyFeedTable, **_TRACE_OPTIONS)


class KafkaTable(OptionsTable):
    """`[kafka]`; its unknown keys are options for the Kafka client."""

    bootstrap: Annotated[str | None, kinds.BOOTSTRAP] = None
    connector: Annotated[tuple[str, ...], kinds.CONNECTOR] = ()
    topics: dict[str, Annotated[int, kinds.whole_number(1)]] = {}
    feeds: dict[str, FeedTable] = {}


class CpuTable(Table):
    """`[cpu]`, in which `prometheus` and `query` are needed if one of them or `label` is there."""

    ask_executors: Annotated[bool, kinds.YES_OR_NO] = True
    prometheus: Annotated[str | None, kinds.URL] = None
    query: Annotated[str | None, kinds.QUERY] = None
    label: Annotated[str, kinds.text("the name of a label", r"[A-Za-z_][A-Za-z0-9_]*")] = "executor_id"


class CalendarTable(Table):
    """One `[[autopilot.calendar]]`: every week by `hours`, or once by `from` and `until`."""

    name: Annotated[str, kinds.text("a name")]
    min_executors: Annotated[int, kinds.whole_number(1)]
    hours: Annotated[tuple[Hours, ...], kinds.HOURS] = ()
    from_: Annotated[float | None, kinds.MOMENT] = Field(default=None, alias="from")
    until: Annotated[float | None, kinds.MOMENT] = None
    lead: Annotated[float, kinds.number(0, 86400, seconds=True)] = 300.0


class AnyAutopilotTable(Table):
    mode: Annotated[Mode, kinds.one_of("observe", "shadow", "ask", "active")] = "observe"
    policy: Annotated[str, kinds.POLICY] = "auto"
    parameters: dict[str, Any] = {}
    profile: Annotated[str | None, kinds.text("the path of a CSV file")] = None
    only: Annotated[Only, kinds.one_of("both", "up", "down")] = "both"
    max_step: Annotated[int | None, kinds.whole_number(1)] = None
    quota_executors: Annotated[int | None, kinds.whole_number(1)] = None
    fallback_executors: Annotated[int | None, kinds.whole_number(1)] = None
    hours: Annotated[tuple[Hours, ...], kinds.HOURS] = ()
    exclude: Annotated[tuple[Hours, ...], kinds.HOURS] = ()
    calendar: tuple[CalendarTable, ...] = ()
    guards: Annotated[Guards, kinds.one_of("auto", "on", "off")] = "auto"
    rollback: Annotated[bool, kinds.YES_OR_NO] = True
    downtime: Annotated[float | None, kinds.DURATION] = None
    executor_cpu_cores: Annotated[float | None, kinds.number(0.001, 10_000)] = None


_ROLLBACK_KEYS = {"rollback_s": "rollback_pause"}
AUTOPILOT_KEYS = {each.name: _ROLLBACK_KEYS.get(each.name, each.name.removesuffix("_s")) for each in fields(Autopilot)}
"""The key of each field of `Autopilot`, without the unit: times are durations in the file."""

_AUTOPILOT: dict[str, Any] = {
    AUTOPILOT_KEYS[each.name]: (Annotated[float, kinds.of_setting(each)], each.default) for each in fields(Autopilot) if "meaning" in each.metadata
}

if TYPE_CHECKING:
    AutopilotTable = AnyAutopilotTable
else:
    AutopilotTable = create_model("AutopilotTable", __base__=AnyAutopilotTable, **_AUTOPILOT)

_SETTINGS: dict[str, Any] = {each.name: (Annotated[float, kinds.of_setting(each)], each.default) for each in fields(Config)}

if TYPE_CHECKING:
    SettingsTable = Table
else:
    SettingsTable = create_model("SettingsTable", __base__=Table, **_SETTINGS)


class JobTable(Table):
    """The whole file, its shorthands expanded."""

    name: Annotated[str | None, kinds.NAME] = None
    master: Annotated[str | None, kinds.MASTER] = None
    checkpoint: Annotated[str, kinds.text("a folder or a URI such as s3a://bucket/checkpoint")] = "checkpoint"
    metrics: Annotated[str | None, kinds.METRICS] = "127.0.0.1:0"
    limits: LimitsTable = LimitsTable()
    promises: PromisesTable = PromisesTable()
    sources: dict[Annotated[str, kinds.NAME], SourceTable] = {}
    queries: dict[Annotated[str, kinds.NAME], QueryTable] = {}
    kafka: KafkaTable = KafkaTable()
    cpu: CpuTable = CpuTable()
    autopilot: AutopilotTable = AutopilotTable()
    settings: SettingsTable = SettingsTable()
    spark: dict[str, Any] = {}
