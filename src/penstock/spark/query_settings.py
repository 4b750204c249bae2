"""The settings of a query that are changed by a restart."""

from dataclasses import dataclass
from typing import Any

from penstock.core.domain.configuration import QueryConfiguration
from penstock.core.domain.trigger import Trigger, paced_s, rows_per_batch
from penstock.core.errors import UserMistake

LIMIT_OPTIONS = {"trace": "max_rows_per_batch", "kafka": "maxOffsetsPerTrigger"}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySettings(QueryConfiguration):
    """The configuration of a query as Spark takes it; with `partitions` None, those of the checkpoint or the session."""

    @property
    def paced_trigger(self) -> Trigger:
        """The trigger for Spark: a limit in rows per second needs batches at a known pace, every second if no slower.

        >>> QuerySettings(trigger=Trigger(), rate_limit_rows_per_s=1000.0).paced_trigger.interval_s
        1.0
        """
        if self.rate_limit_rows_per_s is None or self.trigger.kind != "processing_time":
            return self.trigger
        return Trigger(interval_s=paced_s(self.trigger))

    def rows_per_batch(self, share: int = 1) -> int | None:
        """Return the rate limit as Spark takes it: rows in a batch, for one of `share` sources.

        >>> QuerySettings(trigger=Trigger(interval_s=5.0), rate_limit_rows_per_s=1000.0).rows_per_batch()
        5000
        """
        if self.rate_limit_rows_per_s is None:
            return None
        return max(1, int(rows_per_batch(self.trigger, self.rate_limit_rows_per_s) / share))


def spark_trigger(trigger: Trigger) -> dict[str, Any]:
    """Return the arguments of `DataStreamWriter.trigger`.

    >>> spark_trigger(Trigger(interval_s=0.5))
    {'processingTime': '500 milliseconds'}
    """
    if trigger.kind == "available_now":
        return {"availableNow": True}
    text = f"{round(trigger.interval_s * 1000)} milliseconds"
    return {"realTime": text} if trigger.kind == "real_time" else {"processingTime": text}


def parse_spark_trigger(text: str) -> Trigger:
    """Parse a trigger as Spark prints it.

    >>> parse_spark_trigger("ProcessingTimeTrigger(1500)")
    Trigger(kind='processing_time', interval_s=1.5)
    """
    kind, _, rest = text.partition("(")
    number = rest.rstrip(")").split(",")[0]
    if kind == "ProcessingTimeTrigger":
        return Trigger(interval_s=int(number) / 1000)
    if kind == "RealTimeTrigger":
        return Trigger(kind="real_time", interval_s=int(number) / 1000)
    if kind.startswith("AvailableNow"):
        return Trigger(kind="available_now")
    raise UserMistake(f"trigger: {text} is not supported by Penstock; use a processing time, availableNow or real time")
