from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import SparkContext

from penstock.spark.positions import KafkaPositions


class FakePartition:
    """Java's TopicPartition."""

    def __init__(self, topic: str, number: int) -> None:
        self._topic, self._number = topic, number

    def topic(self) -> str:
        return self._topic

    def partition(self) -> int:
        return self._number

    def toString(self) -> str:
        return f"{self._topic}-{self._number}"


class FakeConsumer:
    """Java's KafkaConsumer of a broker whose topics have two partitions of 5 rows; `opened` are all that were made."""

    opened: list["FakeConsumer"] = []  # noqa: RUF012

    def __init__(self, settings: dict[str, str]) -> None:
        self.settings = settings
        self.is_closed = False
        FakeConsumer.opened.append(self)

    def partitionsFor(self, topic: str) -> list[FakePartition]:
        return [FakePartition(topic, number) for number in range(2)]

    def endOffsets(self, partitions: list[FakePartition]) -> dict[FakePartition, int]:
        return dict.fromkeys(partitions, 5)

    def close(self, within: object) -> None:
        self.is_closed = True


class FakeMap(dict[str, str]):
    """Java's HashMap."""

    def put(self, key: str, value: str) -> None:
        self[key] = value


class FakeList(list[FakePartition]):
    """Java's ArrayList."""

    add = list.append


@pytest.fixture
def consumers(monkeypatch: pytest.MonkeyPatch) -> list[FakeConsumer]:
    """A JVM that has what is asked of it; the clients that were made there."""
    java = SimpleNamespace(util=SimpleNamespace(HashMap=FakeMap, ArrayList=FakeList), time=SimpleNamespace(Duration=SimpleNamespace(ofSeconds=int)))
    kafka = SimpleNamespace(clients=SimpleNamespace(consumer=SimpleNamespace(KafkaConsumer=FakeConsumer)), common=SimpleNamespace(TopicPartition=FakePartition))
    jvm: Any = SimpleNamespace(java=java, org=SimpleNamespace(apache=SimpleNamespace(kafka=kafka)))
    monkeypatch.setattr(SparkContext, "_jvm", jvm)
    monkeypatch.setattr(FakeConsumer, "opened", [])
    return FakeConsumer.opened


@pytest.mark.parametrize("prefix", ["kafka.", "KAFKA.", "Kafka."])
def test_the_client_has_the_options_of_the_source_in_whatever_letters(prefix: str, consumers: list[FakeConsumer]) -> None:
    positions = KafkaPositions({f"{prefix}bootstrap.servers": "a:9092", f"{prefix}security.protocol": "SSL", "Subscribe": "clicks"})
    assert positions.newest() == {"clicks-0": 5.0, "clicks-1": 5.0}
    [consumer] = consumers
    assert (consumer.settings["bootstrap.servers"], consumer.settings["security.protocol"]) == ("a:9092", "SSL")


def test_the_client_is_closed_and_made_anew_if_it_is_asked_again(consumers: list[FakeConsumer]) -> None:
    positions = KafkaPositions({"kafka.bootstrap.servers": "a:9092", "subscribe": "clicks"})
    positions.close()
    assert not consumers, "one that was never made is not made to be closed"
    positions.newest()
    positions.close()
    assert [each.is_closed for each in consumers] == [True]
    assert positions.newest() and len(consumers) == 2
