"""Nexmark's queries 1, 2, 5, 8 and 11 over an auction house, after github.com/nexmark/nexmark.

Of 50 events 1 is a new person, 3 are auctions and 46 are bids (2, 6 and 92 %), of about 200, 500 and 100 bytes. Query 11 is "user sessions": the bids of a
bidder until he makes none for ten seconds.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.core.shapes.chance import IntArray
from penstock.workloads.draws import delays_ms, shares, wholes
from penstock.workloads.events import WATERMARK, columns_of, newest_arrival, records, windows_of

PERSONS, AUCTIONS, EVENTS = 1, 3, 50
"""Of so many events in a row, the first is a person, the next ones are auctions, and all others bids."""
SCHEMA = "kind STRING, person BIGINT, auction BIGINT, price BIGINT, extra STRING, delay_ms INT"
EUROS = 0.908
EVERY_AUCTION = 123
EXTRA = {"person": "p" * 147, "auction": "a" * 419, "bid": "b" * 24}
"""What makes an event as long as it is meant to be."""
RECENT = 100
"""Persons sell and bid among so many of the newest; auctions are bid on among so many."""
HOT_BIDDER, HOT_AUCTION = 0.75, 0.5
"""The share of bids by the newest hundredth person, and on the newest hundredth auction."""


def q1(events: DataFrame) -> DataFrame:
    """Write each bid with its price in euros."""
    return records(bids(events).selectExpr("auction", "person bidder", f"price * {EUROS} price", "arrival"), "auction")


def q2(events: DataFrame) -> DataFrame:
    """Write the bids on some of the auctions."""
    return records(bids(events).where(F.col("auction") % EVERY_AUCTION == 0).select("auction", "price", "arrival"), "auction")


def q5(events: DataFrame) -> DataFrame:
    """Write the auction with the most bids in the last ten seconds, every two seconds, when they are over; of equals, that with the highest number."""
    counts = (
        windows_of(bids(events), "10 seconds", "auction", slides="2 seconds").groupBy("window", "auction").agg(F.count("*").alias("bids"), newest_arrival())
    )
    hottest = counts.groupBy("window").agg(F.max(F.struct("bids", "auction")).alias("hottest"), newest_arrival())
    return records(hottest.select("hottest.auction", "window.start", "hottest.bids", "arrival"), "auction")


def q8(events: DataFrame) -> DataFrame:
    """Write each person who came and sold something within the same ten seconds, when they are over."""
    columns = columns_of(events, SCHEMA)
    came, sold = (
        windows_of(columns.where(F.col("kind") == kind), "10 seconds", "person").groupBy("window", "person").agg(newest_arrival())
        for kind in ("person", "auction")
    )
    both = came.alias("came").join(sold.alias("sold"), F.expr("came.window = sold.window AND came.person = sold.person"))
    return records(both.selectExpr("came.person", "came.window.start", "greatest(came.arrival, sold.arrival) arrival"), "person")


def q11(events: DataFrame) -> DataFrame:
    """Write the bids of a bidder in a session, when he has made none for ten seconds."""
    sessions = bids(events).withWatermark("event_time", WATERMARK).groupBy(F.session_window("event_time", "10 seconds").alias("session"), "person")
    counts = sessions.agg(F.count("*").alias("bids"), newest_arrival())
    return records(counts.selectExpr("person bidder", "session.start", "session.end", "bids", "arrival"), "bidder")


def bids(events: DataFrame) -> DataFrame:
    return columns_of(events, SCHEMA).where("kind = 'bid'")


def make_rows(positions: IntArray, seed: int) -> pa.RecordBatch:
    """Return events: `person` is who came, sells or bids, `auction` what is sold or bid on, `price` what is bid or asked."""
    group, place = positions // EVENTS, positions % EVENTS
    is_person, is_auction = place < PERSONS, (place >= PERSONS) & (place < PERSONS + AUCTIONS)
    newest_person, newest_auction = group * PERSONS, group * AUCTIONS + np.clip(place - PERSONS, 0, AUCTIONS - 1)
    chosen = np.maximum(0, newest_person - wholes(positions, seed, "person", RECENT))
    bidder = np.where(shares(positions, seed, "hot bidder") < HOT_BIDDER, newest_person // 100 * 100, chosen)
    on = np.maximum(0, newest_auction - wholes(positions, seed, "auction", RECENT))
    bid_on = np.where(shares(positions, seed, "hot auction") < HOT_AUCTION, newest_auction // 100 * 100, on)
    kinds = np.where(is_person, "person", np.where(is_auction, "auction", "bid"))
    delays = delays_ms(positions, seed)
    columns = {
        "kind": pa.array(kinds),
        "person": pa.array(np.where(is_person, newest_person, np.where(is_auction, chosen, bidder))),
        "auction": pa.array(np.where(is_auction, newest_auction, bid_on), mask=is_person),
        "price": pa.array(np.floor(10 ** (2 + 4 * shares(positions, seed, "price"))).astype(np.int64), mask=is_person),
        "extra": pc.if_else(pa.array(is_person), EXTRA["person"], pc.if_else(pa.array(is_auction), EXTRA["auction"], EXTRA["bid"])),
        "delay_ms": pa.array(delays),
    }
    return pa.RecordBatch.from_pydict(columns)
