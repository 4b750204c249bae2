import json
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.workloads.draws import LATE_MS, LATE_SHARE, TOO_LATE_SHARE, delays_ms
from penstock.workloads.nexmark import make_rows as nexmark

MAKERS = ("wordcount", "ysb", "topspeed", "vehicles", "taxi", "knn", "nexmark")
COUNT = 20_000


def made(name: str, positions: Any, seed: int = 7) -> pa.RecordBatch:
    rows: pa.RecordBatch = import_module(f"penstock.workloads.{name}").make_rows(positions, seed)
    return rows


@pytest.mark.parametrize("name", MAKERS)
def test_rows_depend_on_their_position_and_the_seed_alone(name: str) -> None:
    all_at_once, later = made(name, np.arange(300)), made(name, np.arange(100, 300))
    assert all_at_once.slice(100).to_pylist() == later.to_pylist() != made(name, np.arange(100, 300), seed=8).to_pylist()
    assert made(name, np.arange(1)).schema == all_at_once.schema, "one row shows the types of all"


def test_some_rows_are_late_and_a_few_too_late() -> None:
    delays = delays_ms(np.arange(COUNT), 7)
    assert (delays > 0).mean() == pytest.approx(LATE_SHARE, rel=0.1) and (delays > LATE_MS).mean() == pytest.approx(TOO_LATE_SHARE, rel=0.3)
    assert delays[delays > LATE_MS].min() >= 60_000 and delays.max() <= 90_000


def test_an_auction_house_has_persons_auctions_and_bids_of_the_shares_and_sizes_of_nexmark() -> None:
    rows = nexmark(np.arange(COUNT), 7).to_pylist()
    for kind, share, size in (("person", 0.02, 200), ("auction", 0.06, 500), ("bid", 0.92, 100)):
        of = [len(json.dumps({name: value for name, value in row.items() if value is not None})) for row in rows if row["kind"] == kind]
        assert len(of) / COUNT == share and np.mean(of) == pytest.approx(size, rel=0.2)


def test_half_of_the_bids_are_on_hot_auctions_and_three_quarters_by_hot_bidders() -> None:
    bids = [row for row in nexmark(np.arange(COUNT), 7).to_pylist() if row["kind"] == "bid"]
    hot = [sum(row[name] % 100 == 0 for row in bids) / len(bids) for name in ("auction", "person")]
    assert hot == pytest.approx([0.5, 0.75], abs=0.05)


def test_words_are_skewed_by_zipfs_law() -> None:
    words = " ".join(made("wordcount", np.arange(COUNT)).to_pydict()["line"]).split()
    assert words.count("word0") / words.count("word9") == pytest.approx(10.0, rel=0.1)


def test_cars_drive_as_far_as_their_speed_says() -> None:
    one = made("topspeed", 3 + 500 * np.arange(200)).to_pydict()
    driven_m = np.diff(one["distance_m"])
    assert driven_m == pytest.approx((np.array(one["speed_kmh"])[1:] + np.array(one["speed_kmh"])[:-1]) / 2 / 3.6, abs=0.2)
