"""The Yahoo Streaming Benchmark (github.com/yahoo/streaming-benchmarks): how often the advertisements of each campaign are viewed in ten seconds."""

import os
from functools import lru_cache
from importlib import import_module
from uuid import NAMESPACE_URL, uuid5

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.core.errors import UserMistake
from penstock.core.shapes.chance import IntArray
from penstock.workloads.draws import delays_ms, wholes
from penstock.workloads.events import columns_of, newest_arrival, records, windows_of

REDIS = "YSB_REDIS"
"""The variable with the address of a Redis, such as redis://127.0.0.1:6379, whose hash `ads` has the campaign of each advertisement."""
CAMPAIGNS, ADS_OF_A_CAMPAIGN, USERS, PAGES = 100, 10, 100, 100
AD_TYPES = ("banner", "modal", "sponsored-search", "mail", "mobile")
EVENT_TYPES = ("view", "click", "purchase")


def viewed(events: DataFrame) -> DataFrame:
    """Write the views of a campaign in a window, and the time of the last one, anew whenever they change."""
    columns = columns_of(events, "ad_id STRING, event_type STRING, delay_ms INT").where("event_type = 'view'")
    joined = columns.join(F.broadcast(events.sparkSession.createDataFrame(campaigns())), "ad_id")
    views = windows_of(joined, "10 seconds", "campaign_id").groupBy("window", "campaign_id")
    counts = views.agg(F.count("*").alias("views"), F.max("event_time").alias("updated"), newest_arrival())
    return records(counts.select("campaign_id", "window.start", "views", "updated", "arrival"), "campaign_id")


def campaigns() -> pa.Table:
    """Return the campaign of each advertisement: from Redis, if one is named, read once at the start, else made here."""
    address = os.environ.get(REDIS)
    if not address:
        return ads()
    try:
        redis = import_module("redis")
    except ModuleNotFoundError:
        raise UserMistake(f"{REDIS}: a Redis is named, but the Python package redis is not there: install it, or unset {REDIS}") from None
    try:
        found = redis.Redis.from_url(address, decode_responses=True).hgetall("ads")
    except (redis.RedisError, ValueError) as error:
        raise UserMistake(f"{REDIS}: {address} cannot be read: {error}") from None
    if not found:
        raise UserMistake(f"{REDIS}: the hash ads of {address} is empty; fill it with the campaign of each advertisement")
    return pa.table({"ad_id": list(found), "campaign_id": list(found.values())})


def make_rows(positions: IntArray, seed: int) -> pa.RecordBatch:
    """Return the column `value`, a JSON object. Its `delay_ms` stands for the `event_time` of the benchmark, as arrivals are not known here."""
    fields = {
        "user_id": ids("user", USERS),
        "page_id": ids("page", PAGES),
        "ad_id": ids("ad", CAMPAIGNS * ADS_OF_A_CAMPAIGN),
        "ad_type": AD_TYPES,
        "event_type": EVENT_TYPES,
    }
    drawn = [written(name, choices).take(pa.array(wholes(positions, seed, name, len(choices)))) for name, choices in fields.items()]
    delays = pa.array(delays_ms(positions, seed)).cast(pa.string())
    values = pc.binary_join_element_wise("{", *drawn, '"ip_address":"1.2.3.4","delay_ms":', delays, "}", "")
    return pa.RecordBatch.from_arrays([values], names=["value"])


def ads() -> pa.Table:
    """Return the campaign of each advertisement."""
    campaigns = [campaign for campaign in ids("campaign", CAMPAIGNS) for _ in range(ADS_OF_A_CAMPAIGN)]
    return pa.table({"ad_id": list(ids("ad", CAMPAIGNS * ADS_OF_A_CAMPAIGN)), "campaign_id": campaigns})


@lru_cache
def ids(kind: str, count: int) -> tuple[str, ...]:
    return tuple(str(uuid5(NAMESPACE_URL, f"{kind}/{number}")) for number in range(count))


@lru_cache
def written(name: str, choices: tuple[str, ...]) -> pa.Array:
    """Return each choice as the field of a JSON object."""
    return pa.array([f'"{name}":"{choice}",' for choice in choices])
