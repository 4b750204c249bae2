"""Taxi drives: two sources of drives, blended and read by two sinks, of which the second has more to compute."""

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.core.shapes.chance import IntArray
from penstock.workloads.draws import delays_ms, shares, wholes
from penstock.workloads.events import columns_of, newest_arrival, records, windows_of

ZONES = 60
SCHEMA = "drive_id BIGINT, pickup BIGINT, dropoff BIGINT, distance_km DOUBLE, minutes DOUBLE, fare DOUBLE, delay_ms INT"


def earnings(yellow: DataFrame, green: DataFrame) -> DataFrame:
    """Write the drives that begin in a zone within ten seconds, and what they earn."""
    zones = windows_of(blended(yellow, green), "10 seconds", "pickup", "fare").groupBy("window", "pickup")
    sums = zones.agg(F.count("*").alias("drives"), F.sum("fare").alias("fares"), newest_arrival())
    return records(sums.select("pickup", "window.start", "drives", "fares", "arrival"), "pickup")


def routes(yellow: DataFrame, green: DataFrame) -> DataFrame:
    """Write how fast and how dear drives between two zones are within thirty seconds, every two seconds: each drive counts in fifteen windows."""
    drives = blended(yellow, green).selectExpr(
        "event_time", "arrival", "pickup", "dropoff", "distance_km * 60 / minutes speed_kmh", "fare / distance_km fare_km"
    )
    between = windows_of(drives, "30 seconds", "pickup", "dropoff", "speed_kmh", "fare_km", slides="2 seconds").groupBy("window", "pickup", "dropoff")
    found = between.agg(F.count("*").alias("drives"), F.avg("speed_kmh").alias("speed_kmh"), F.stddev_pop("fare_km").alias("spread"), newest_arrival())
    return records(found.select("pickup", "dropoff", "window.start", "drives", "speed_kmh", "spread", "arrival"), "pickup")


def blended(yellow: DataFrame, green: DataFrame) -> DataFrame:
    return columns_of(yellow, SCHEMA).unionByName(columns_of(green, SCHEMA))


def make_rows(positions: IntArray, seed: int) -> pa.RecordBatch:
    """Return drives between zones, some of which are far busier than others; the two sources have different seeds."""
    pickup, dropoff = ((ZONES * shares(positions, seed, name) ** 2).astype(np.int64) for name in ("pickup", "dropoff"))
    distance = 0.5 + np.abs(pickup - dropoff) * 0.3 + shares(positions, seed, "distance")
    minutes = distance / (10 + 30 * shares(positions, seed, "speed")) * 60
    columns = {
        "drive_id": wholes(positions, seed, "drive", 1 << 40),
        "pickup": pickup,
        "dropoff": dropoff,
        "distance_km": distance.round(2),
        "minutes": minutes.round(2),
        "fare": (3 + 2.2 * distance + 0.5 * minutes).round(2),
        "delay_ms": delays_ms(positions, seed),
    }
    return pa.RecordBatch.from_pydict(columns)
