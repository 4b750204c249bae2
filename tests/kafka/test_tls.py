import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from secure_broker import MODULE, PASSWORD, STORE_PASSWORD

from penstock.core.errors import UserMistake
from penstock.kafka.broker import EmbeddedBroker
from penstock.kafka.feed import Feed, Order
from penstock.kafka.options import client_options
from penstock.kafka.tail import TopicTail
from penstock.kafka.topics import end_offsets, make_topics, partitions_of


def test_topics_feeder_and_tail_work_and_no_secret_can_be_seen(
    java: dict[str, str], secure_broker: EmbeddedBroker, short_folder: Path, tmp_path: Path, wait_until: Callable
) -> None:
    client = client_options(java)
    assert make_topics(client, {"in": 2}) == {"in": 2}
    tail = TopicTail(client, "in", 2, "arrival")
    options = {"rate": "constant(2k)", "state": str(tmp_path / "trace.json")}
    try:
        wait_until(lambda: tail.written_rows == 0)
        feed = Feed(Order(topic="in", partitions=2, client=client, options=options, mark=tmp_path / "mark", limit=4_000))
        feed.wait_first()
        seen = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in (feed.pid, secure_broker.pid)]
        feed.wait(30)
        sampled = []
        wait_until(lambda: sampled.extend(tail.take()) or sum(each.rows for each in sampled) >= 3_999.5)
    finally:
        tail.close()
    assert sum(end_offsets(client, "in", 2)) == 4_000
    assert all(abs(each.latency_s) < 0.002 for each in sampled)
    secrets = [PASSWORD.encode(), STORE_PASSWORD.encode(), b"Sesame"]
    assert not any(secret in line for secret in secrets for line in seen)
    written = [file for folder in (tmp_path, short_folder / "secure") for file in folder.rglob("*") if file.is_file()]
    assert {file.name for file in written if any(secret in file.read_bytes() for secret in secrets)} == {"server.properties"}
    assert (secure_broker.folder / "server.properties").stat().st_mode & 0o077 == 0


def test_a_trust_store_in_pkcs12_does_as_well(java: dict[str, str], stores: Path) -> None:
    assert "in" in partitions_of(client_options({**java, "ssl.truststore.location": str(stores / "key.p12"), "ssl.truststore.type": "PKCS12"}))


def test_a_wrong_password_is_said_quickly_and_in_one_line(java: dict[str, str], tmp_path: Path) -> None:
    client = client_options({**java, "sasl.jaas.config": f'{MODULE} required username="alice" password="sesame";'})
    began_s = time.monotonic()
    with pytest.raises(
        UserMistake, match=rf"^kafka: {java['bootstrap.servers']} refuses the client, see its kafka\.\* options: .*Invalid username or password$"
    ):
        make_topics(client, {"in": 2})
    assert time.monotonic() - began_s < 8
    options = {"rate": "constant(10)", "state": str(tmp_path / "trace.json")}
    feed = Feed(Order(topic="in", partitions=2, client=client, options=options, mark=tmp_path / "mark"))
    with pytest.raises(UserMistake, match=r"refuses the client.*Invalid username or password$") as said:
        feed.wait_first(20)
    assert "sesame" not in str(said.value) and not feed.is_running


def test_a_broker_that_is_not_trusted_is_said_quickly(java: dict[str, str], stores: Path) -> None:
    began_s = time.monotonic()
    with pytest.raises(UserMistake, match=r"refuses the client.*certificate verify failed"):
        partitions_of(client_options({**java, "ssl.truststore.location": str(stores / "other.p12")}))
    assert time.monotonic() - began_s < 8


def test_a_wrong_store_password_is_said_without_it(java: dict[str, str]) -> None:
    with pytest.raises(UserMistake, match=r"kafka\.ssl\.truststore\.location: .*trust\.jks cannot be read: .*password was incorrect") as said:
        client_options({**java, "ssl.truststore.password": "guess-work"})
    assert "guess-work" not in str(said.value)


def test_a_client_that_speaks_no_tls_is_not_heard(secure_broker: EmbeddedBroker) -> None:
    producer = Producer({"bootstrap.servers": secure_broker.address("SECURE"), "log_level": 0, "message.timeout.ms": 1_500})
    failed: list[str] = []
    producer.produce("in", json.dumps({}), on_delivery=lambda error, message: failed.append(str(error)))
    producer.flush(5)
    assert len(failed) == 1 and "None" not in failed
