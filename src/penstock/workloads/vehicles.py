"""Vehicles of a city that report once a second, the radius in which they are watched, and what is known of their types."""

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from penstock.core.shapes.chance import IntArray
from penstock.workloads.draws import delays_ms, shares, wholes
from penstock.workloads.events import columns_of

VEHICLES = 1_000
CENTRE, RADIUS_M = (52.51623, 13.38532), 1_000.0
"""The point in Berlin around which the jobs of Daedalus's authors watch traffic, and the distance from it in which they do."""
DEGREE_M = 111_320.0
"""The length of a degree of latitude."""
SPREAD_M = 1_500.0
TYPES = pa.table({"vehicle_type": [0, 1, 2, 3], "type_name": ["car", "truck", "bus", "motorcycle"], "limit_kmh": [50.0, 40.0, 45.0, 50.0]})
SCHEMA = "vehicle_id BIGINT, vehicle_type BIGINT, latitude DOUBLE, longitude DOUBLE, speed_kmh DOUBLE, delay_ms INT"


def watched(events: DataFrame) -> DataFrame:
    """Return the reports of vehicles within the radius."""
    latitude, longitude = CENTRE
    north_m = (F.col("latitude") - latitude) * DEGREE_M
    east_m = (F.col("longitude") - longitude) * DEGREE_M * np.cos(np.radians(latitude)).item()
    return columns_of(events, SCHEMA).where(north_m * north_m + east_m * east_m <= RADIUS_M**2)


def types(spark: SparkSession) -> DataFrame:
    """Return the name and the speed limit of each type, to be joined in memory."""
    return F.broadcast(spark.createDataFrame(TYPES))


def make_rows(positions: IntArray, seed: int) -> pa.RecordBatch:
    """Return reports of vehicles, once a second of their own drive: each goes to and fro past its home, so that some leave the radius and come back."""
    vehicle, second = positions % VEHICLES, positions // VEHICLES
    angle = 2 * np.pi * (shares(vehicle, seed, "begin") + second / (60 + wholes(vehicle, seed, "period", 120)))
    north_m, east_m = (SPREAD_M * (2 * shares(vehicle, seed, name) - 1) + 150 * turn for name, turn in (("north", np.sin(angle)), ("east", np.cos(angle))))
    speed = (25 + 25 * shares(vehicle, seed, "mean")) * (1 + 0.5 * np.sin(3 * angle))
    latitude, longitude = CENTRE
    columns = {
        "vehicle_id": vehicle,
        "vehicle_type": wholes(vehicle, seed, "type", 4),
        "latitude": latitude + north_m / DEGREE_M,
        "longitude": longitude + east_m / DEGREE_M / np.cos(np.radians(latitude)),
        "speed_kmh": speed.round(1),
        "delay_ms": delays_ms(positions, seed),
    }
    return pa.RecordBatch.from_pydict(columns)
