"""The begin and the end of every benchmark job: columns from a trace or from Kafka, and results that a Kafka sink takes."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

WATERMARK = "5 seconds"
"""Rows that are later than this may be dropped: those that `draws.py` makes too late."""


def columns_of(events: DataFrame, schema: str) -> DataFrame:
    """Return the columns of a flat schema, with `arrival` and, from its `delay_ms`, `event_time`.

    A column `value` is a JSON object with these columns, as Kafka has it; without one, as in a trace, the columns are there already.
    """
    arrival = F.col("arrival" if "arrival" in events.columns else "timestamp").alias("arrival")
    if "value" in events.columns:
        row = F.from_json(F.col("value").cast("string"), schema)
        events = events.select(arrival, row.alias("row")).select("arrival", "row.*")
    return events.withColumn("event_time", F.expr("timestamp_millis(unix_millis(arrival) - delay_ms)"))


def windows_of(columns: DataFrame, lasts: str, *keys: str, slides: str | None = None) -> DataFrame:
    """Return the columns with a watermark, and a `window` of their event times; group by `window` and the keys."""
    return columns.withWatermark("event_time", WATERMARK).select(F.window("event_time", lasts, slides).alias("window"), "event_time", "arrival", *keys)


def newest_arrival() -> Column:
    return F.max("arrival").alias("arrival")


def records(result: DataFrame, key: str) -> DataFrame:
    """Return results as Kafka records: `key` as text, and all columns as JSON, the arrival of the newest row in them included."""
    return result.select(F.col(key).cast("string").alias("key"), F.to_json(F.struct("*")).alias("value"))
