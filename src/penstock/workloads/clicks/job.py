"""Count the clicks of each user. Every output record carries the arrival of the newest click it counts: so latency can be measured at the sink."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812


def counted(clicks: DataFrame) -> DataFrame:
    users = clicks.selectExpr("cast(key as string) key", "timestamp")
    counts = users.groupBy("key").agg(F.count("*").alias("clicks"), F.max("timestamp").alias("arrival"))
    return counts.selectExpr("key", "to_json(struct(clicks, arrival)) value")
