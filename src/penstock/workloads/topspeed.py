"""Top Speed Windowing, after Flink's example: the top speed of each car over the last ten seconds, whenever it has driven 50 m more."""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from penstock.core.shapes.chance import IntArray
from penstock.workloads.draws import delays_ms, shares, wholes
from penstock.workloads.events import columns_of, records

EVERY_M, LAST_MS = 50.0, 10_000
STATE = "written_m DOUBLE, times_ms ARRAY<BIGINT>, speeds_kmh ARRAY<DOUBLE>"
CARS = 500
RESULT = "car_id BIGINT, top_speed_kmh DOUBLE, distance_m DOUBLE, arrival_us BIGINT"

# The worker in which Spark's driver tries the processor out does not find files that were sent to executors.
register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


class TopSpeed(StatefulProcessor):
    """Keeps the reports of a car over the last ten seconds, and the distance at which its top speed was last written."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._car = handle.getValueState("car", STATE)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Take the reports in the order of the drive. The time of a late one is earlier: it may be one of the last ten seconds no more."""
        written_m, times_ms, speeds_kmh = self._car.get() or (None, [], [])
        last = list(zip(times_ms, speeds_kmh, strict=True))
        for row in sorted(rows, key=lambda row: row.distance_m):
            last.append((row.time_ms, row.speed_kmh))
            if written_m is None:
                written_m = row.distance_m
            elif row.distance_m - written_m > EVERY_M:
                written_m, last = row.distance_m, recent(last)
                top_kmh = max(speed for _, speed in last)
                yield Row(car_id=key[0], top_speed_kmh=top_kmh, distance_m=written_m, arrival_us=row.arrival_us)
        last = recent(last)
        self._car.update((written_m, [time_ms for time_ms, _ in last], [speed for _, speed in last]))


def recent(reports: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the reports that are less than ten seconds older than the newest."""
    newest_ms = max(time_ms for time_ms, _ in reports)
    return [(time_ms, speed) for time_ms, speed in reports if time_ms > newest_ms - LAST_MS]


def top_speeds(cars: DataFrame) -> DataFrame:
    """Write a result once; it is made by a Python operator, which Real-Time Mode does not allow."""
    columns = columns_of(cars, "car_id BIGINT, speed_kmh DOUBLE, distance_m DOUBLE, delay_ms INT")
    reports = columns.selectExpr("car_id", "speed_kmh", "distance_m", "unix_millis(event_time) time_ms", "unix_micros(arrival) arrival_us")
    found = reports.groupBy("car_id").transformWithState(TopSpeed(), outputStructType=RESULT, outputMode="Append", timeMode="None")
    return records(found.selectExpr("car_id", "top_speed_kmh", "distance_m", "timestamp_micros(arrival_us) arrival"), "car_id")


def make_rows(positions: IntArray, seed: int) -> pa.RecordBatch:
    """Return reports of cars, once a second of their own drive: speed, and the distance driven so far.

    The speed is a wave around a mean, and the distance its integral over the car's own seconds, so that each row needs no other row.
    """
    car, second = positions % CARS, positions // CARS
    mean = 40 + 80 * shares(car, seed, "mean")
    swing = 0.7 * mean * shares(car, seed, "swing")
    pace = 2 * np.pi / (30 + wholes(car, seed, "period", 90))
    begin = 2 * np.pi * shares(car, seed, "begin")
    angle = begin + pace * second
    speed = mean + swing * np.sin(angle)
    distance = (mean * second + swing / pace * (np.cos(begin) - np.cos(angle))) / 3.6
    columns = {"car_id": car, "speed_kmh": speed.round(1), "distance_m": distance.round(2), "delay_ms": delays_ms(positions, seed)}
    return pa.RecordBatch.from_pydict(columns)
