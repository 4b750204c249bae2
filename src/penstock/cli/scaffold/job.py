"""A small streaming job: how many events each key had, and their average value, every ten seconds.

It is ordinary PySpark. The trace source gives the columns position BIGINT, arrival TIMESTAMP, key STRING and value DOUBLE.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf


def averages(events: DataFrame) -> DataFrame:
    """Count and average by key in windows of ten seconds; a window is written once it is 30 seconds old."""
    return (
        events.withWatermark("arrival", "30 seconds")
        .groupBy(sf.window("arrival", "10 seconds").alias("window"), "key")
        .agg(sf.count("*").alias("events"), sf.avg("value").alias("average"))
        .select("window.start", "window.end", "key", "events", "average")
    )
