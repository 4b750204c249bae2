import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import waiting
from secure_broker import java, secure_broker, stores
from topic_reader import read_messages

from penstock.kafka.broker import EmbeddedBroker
from penstock.kafka.topics import end_offsets, make_topics
from penstock.spark.connector import broker_jars

__all__ = ["java", "secure_broker", "stores"]
JAVA_HOME = Path(__file__).parents[2] / ".venv" / "java-home"
if "JAVA_HOME" not in os.environ and JAVA_HOME.exists():
    os.environ["JAVA_HOME"] = JAVA_HOME.read_text().strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    partition: int
    stamp_ms: int
    key: bytes | None
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic with its client; the names of the feeder's files are free for it to use."""

    name: str
    partitions: int
    client: dict[str, str]

    def ends(self) -> list[int]:
        return end_offsets(self.client, self.name, self.partitions)

    def records(self) -> list[Record]:
        """All it holds, each partition in its order."""
        found = read_messages(self.client["bootstrap.servers"], self.name, self.partitions)
        return [Record(partition=each.partition(), stamp_ms=each.timestamp()[1], key=each.key(), value=each.value()) for each in found]


@pytest.fixture(scope="session")
def jars() -> tuple[str, ...]:
    return broker_jars().jars


@pytest.fixture(scope="session")
def short_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="pk-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def broker(short_folder: Path, jars: tuple[str, ...]) -> Iterator[EmbeddedBroker]:
    made = EmbeddedBroker(short_folder / "broker", jars)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="session")
def topic(broker: EmbeddedBroker) -> Callable[..., Topic]:
    def make(partitions: int = 4) -> Topic:
        name, client = f"t-{uuid.uuid4().hex[:12]}", {"bootstrap.servers": broker.bootstrap}
        make_topics(client, {name: partitions})
        return Topic(name=name, partitions=partitions, client=client)

    return make


@pytest.fixture(scope="session")
def wait_until() -> Callable[..., None]:
    return waiting.wait_until
