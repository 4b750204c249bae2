"""IoT Vehicles: the average speed of each vehicle within a radius over three seconds, every second, and whether it is speeding."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.workloads.events import newest_arrival, records, windows_of
from penstock.workloads.vehicles import types, watched


def speeding(vehicles: DataFrame) -> DataFrame:
    """Write whether a vehicle is above the limit of its type in a window, anew whenever its average changes."""
    windows = windows_of(watched(vehicles), "3 seconds", "vehicle_id", "vehicle_type", "speed_kmh", slides="1 second")
    averages = windows.groupBy("window", "vehicle_id", "vehicle_type").agg(F.avg("speed_kmh").alias("speed_kmh"), newest_arrival())
    judged = averages.join(types(vehicles.sparkSession), "vehicle_type").withColumn("speeding", F.col("speed_kmh") > F.col("limit_kmh"))
    return records(judged.select("vehicle_id", "window.start", "type_name", "speed_kmh", "limit_kmh", "speeding", "arrival"), "vehicle_id")
