from pathlib import Path

import pyarrow.parquet as pq

from penstock.spark.sink import pages


def positions_in(ledger: Path) -> list[int]:
    files = [ledger / "data" / str(name) for page in pages(ledger) for name in page["files"]]
    return sorted(position for file in files for position in pq.read_table(file, columns=["position"]).column("position").to_pylist())
