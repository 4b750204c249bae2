"""Traffic Monitoring: the average speed of each vehicle within a radius over ten seconds, and what type of vehicle it is."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.workloads.events import newest_arrival, records, windows_of
from penstock.workloads.vehicles import types, watched


def speeds(vehicles: DataFrame) -> DataFrame:
    """Write the average speed of a vehicle in a window anew whenever it changes."""
    windows = windows_of(watched(vehicles), "10 seconds", "vehicle_id", "vehicle_type", "speed_kmh")
    averages = windows.groupBy("window", "vehicle_id", "vehicle_type").agg(F.avg("speed_kmh").alias("speed_kmh"), newest_arrival())
    named = averages.join(types(vehicles.sparkSession), "vehicle_type")
    return records(named.select("vehicle_id", "window.start", "type_name", "speed_kmh", "arrival"), "vehicle_id")
