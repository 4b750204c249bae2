"""WordCount: how often each word has come so far. Some words are far more frequent than others."""

from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.core.shapes.chance import FloatArray, IntArray
from penstock.workloads.draws import delays_ms, shares
from penstock.workloads.events import columns_of, newest_arrival, records

WORDS, WORDS_OF_A_LINE = 10_000, 6


def counted(lines: DataFrame) -> DataFrame:
    """Write the count of a word anew whenever it changes."""
    words = columns_of(lines, "line STRING, delay_ms INT").select(F.explode(F.split("line", " ")).alias("word"), "arrival")
    return records(words.groupBy("word").agg(F.count("*").alias("times"), newest_arrival()), "word")


def make_rows(positions: IntArray, seed: int) -> pa.RecordBatch:
    """Return lines of words; the n-th most frequent word comes 1/n as often as the first (Zipf's law)."""
    places = positions[:, None] * WORDS_OF_A_LINE + np.arange(WORDS_OF_A_LINE)
    ranks = np.searchsorted(frequencies(), shares(places, seed, "word"), side="right")
    columns = [words().take(pa.array(ranks[:, place])) for place in range(WORDS_OF_A_LINE)]
    lines = pc.binary_join_element_wise(*columns, " ")
    return pa.RecordBatch.from_arrays([lines, pa.array(delays_ms(positions, seed))], names=["line", "delay_ms"])


@lru_cache(maxsize=1)
def words() -> pa.Array:
    return pa.array([f"word{rank}" for rank in range(WORDS)])


@lru_cache(maxsize=1)
def frequencies() -> FloatArray:
    """Return the share of words up to each rank; the last share is beyond every draw."""
    summed = np.cumsum(1 / np.arange(1, WORDS + 1))
    return np.append(summed[:-1] / summed[-1], 1.0)
