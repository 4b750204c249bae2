from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.spark.checkpoint import Checkpoint, StateFormat
from penstock.spark.files import Files

KEPT_BY = "spark.sql.streaming.stateStore.providerClass"
VERSION = "spark.sql.streaming.stateStore.checkpointFormatVersion"
STORES = "org.apache.spark.sql.execution.streaming.state"


@pytest.fixture
def confs(session: Any) -> Iterator[Any]:
    before = {key: session.conf.get(key) for key in (KEPT_BY, VERSION)}
    yield session.conf
    for key, value in before.items():
        session.conf.set(key, value)


@pytest.mark.parametrize(("provider", "version"), [("HDFSBackedStateStoreProvider", 1), ("RocksDBStateStoreProvider", 2)])
def test_who_keeps_the_state_and_in_which_format_is_read_from_a_real_checkpoint(provider: str, version: int, session: Any, confs: Any, tmp_path: Path) -> None:
    confs.set(KEPT_BY, f"{STORES}.{provider}")
    confs.set(VERSION, str(version))
    session.range(5).write.parquet(str(tmp_path / "rows"))
    distinct = session.readStream.schema("id LONG").parquet(str(tmp_path / "rows")).dropDuplicates(["id"])
    writer = distinct.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    found = Checkpoint(Files(session), str(tmp_path / "checkpoint")).state_format()
    assert found == StateFormat(version=version, provider=provider, partitions=int(session.conf.get("spark.sql.shuffle.partitions")))
