"""K-nearest neighbours in three dimensions: the class of each point by the known points around it. Nothing but the CPU, and no state."""

import json
from functools import lru_cache

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.core.shapes.chance import FloatArray, IntArray
from penstock.workloads.draws import delays_ms, shares, wholes
from penstock.workloads.events import columns_of, records

NEIGHBOURS, KNOWN, CLASSES = 5, 400, 3
SEED = 1
"""That of the known points, whatever the seed of the rows."""
AXES = ("x", "y", "z")


def classified(points: DataFrame) -> DataFrame:
    """Write the most frequent class among the nearest known points, the lowest one of equals; and how far the farthest of them is."""
    columns = columns_of(points, "point_id BIGINT, x DOUBLE, y DOUBLE, z DOUBLE, delay_ms INT")
    known = F.from_json(F.lit(json.dumps(known_points())), "array<struct<c: int, x: double, y: double, z: double>>")
    distance = "pow(k.x - x, 2) + pow(k.y - y, 2) + pow(k.z - z, 2)"
    nearest = F.expr(f"slice(array_sort(transform(known, k -> struct({distance} as d, k.c as c))), 1, {NEIGHBOURS})")
    votes = f"transform(sequence(0, {CLASSES - 1}), c -> struct(size(filter(nearest, n -> n.c = c)) as votes, -c as class))"
    found = columns.withColumn("known", known).withColumn("nearest", nearest)
    return records(found.selectExpr("point_id", f"-array_max({votes}).class class", "sqrt(nearest[size(nearest) - 1].d) distance", "arrival"), "point_id")


@lru_cache(maxsize=1)
def known_points() -> list[dict[str, float]]:
    """Return the points whose class is known; it depends on the distance from the centre, but for one in ten."""
    numbers = np.arange(KNOWN)
    places = coordinates(numbers, SEED)
    far = np.sqrt(((places - 0.5) ** 2).sum(axis=1))
    classes = np.where(shares(numbers, SEED, "noise") < 0.1, wholes(numbers, SEED, "class", CLASSES), np.minimum(CLASSES - 1, far // 0.25).astype(np.int64))
    return [{"c": int(each), **dict(zip(AXES, place.tolist(), strict=True))} for each, place in zip(classes, places, strict=True)]


def coordinates(positions: IntArray, seed: int) -> FloatArray:
    return np.stack([shares(positions, seed, axis).round(6) for axis in AXES], axis=1)


def make_rows(positions: IntArray, seed: int) -> pa.RecordBatch:
    """Return points at random places of the unit cube."""
    places = dict(zip(AXES, coordinates(positions, seed).T, strict=True))
    return pa.RecordBatch.from_pydict({"point_id": positions, **places, "delay_ms": delays_ms(positions, seed)})
