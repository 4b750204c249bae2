import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from waiting import wait_until

from penstock.core.errors import NotReachable, UserMistake
from penstock.kafka import broker as broker_module
from penstock.kafka.broker import EmbeddedBroker, new_identity
from penstock.kafka.topics import Asking, end_offsets, known_offset, make_topics, partitions_of, remove_topic
from penstock.localhost import free_ports, listens_at

PARENT = """
import sys, time
from pathlib import Path
from penstock.kafka.broker import EmbeddedBroker
from penstock.kafka.topics import make_topics
broker = EmbeddedBroker(Path(sys.argv[1]), sys.argv[2].split(":"))
broker.start()
make_topics({"bootstrap.servers": broker.bootstrap}, {"kept": 3})
print(broker.pid, broker.bootstrap, flush=True)
time.sleep(600)
"""


def test_it_comes_back_on_its_ports_with_its_data(broker: EmbeddedBroker, topic: Callable) -> None:
    made, before = topic(3), broker.bootstrap
    broker.stop()
    assert not broker.listens() and broker.pid is None
    broker.start()
    assert broker.bootstrap == before and partitions_of(made.client)[made.name] == 3


def test_a_topic_is_removed_if_it_is_there(topic: Callable) -> None:
    gone, kept = topic(1), topic(1)
    for _ in range(2):
        remove_topic(gone.client, gone.name)
        wait_until(lambda: gone.name not in partitions_of(gone.client))
    assert kept.name in partitions_of(kept.client)


def test_it_ends_with_its_parent_and_another_finds_what_it_held(short_folder: Path, jars: tuple[str, ...]) -> None:
    folder = short_folder / "orphan"
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(folder), ":".join(jars)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid, address = parent.stdout.readline().split()
    parent.kill()
    parent.wait()
    parent.stdout.close()
    other = EmbeddedBroker(folder, jars)
    try:
        other.start()
        assert not psutil.pid_exists(int(pid))
        assert other.bootstrap != address
        assert partitions_of({"bootstrap.servers": other.bootstrap}) == {"kept": 3}
        with pytest.MonkeyPatch.context() as patch, pytest.raises(UserMistake, match=f"another embedded broker runs in {folder}"):
            patch.setattr(broker_module, "STOP_S", 0.1)
            EmbeddedBroker(folder, jars).start()
        assert other.listens()
    finally:
        other.stop()


def test_its_settings_can_be_read_by_its_owner_alone(broker: EmbeddedBroker) -> None:
    for file in (broker.folder, broker.folder / "server.properties", broker.folder / "broker.log"):
        assert file.stat().st_mode & 0o077 == 0


def test_a_setting_that_kafka_does_not_take_is_said_in_one_line(short_folder: Path, jars: tuple[str, ...]) -> None:
    with pytest.raises(UserMistake, match=r"Invalid value x for configuration log\.segment\.bytes: Not a number"):
        EmbeddedBroker(short_folder / "wrong", jars, {"log.segment.bytes": "x"}).start()


def test_a_port_that_is_taken_is_named(short_folder: Path, jars: tuple[str, ...]) -> None:
    late = EmbeddedBroker(short_folder / "late", jars)
    with socket.socket() as other:
        host, port = late.bootstrap.split(":")
        other.bind((host, int(port)))
        other.listen()
        with pytest.raises(UserMistake, match=f"port {port} of the embedded broker in .* is taken"):
            late.start()


def test_no_java_is_said(short_folder: Path, jars: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(UserMistake, match="there is no /nowhere/bin/java for an embedded broker"):
        EmbeddedBroker(short_folder / "bare", jars).start()


def test_ports_are_free_different_and_none_that_a_client_may_be_given() -> None:
    ports = free_ports(50)
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert len(set(ports)) == 50 and max(ports) < first
    assert not any(listens_at(port) for port in ports)


def test_an_identity_is_never_taken_for_an_option() -> None:
    assert all(len(identity) == 22 and not identity.startswith("-") for identity in (new_identity() for _ in range(500)))


def test_topics_are_made_once_and_another_number_of_partitions_is_refused(topic: Callable) -> None:
    made = topic(3)
    assert make_topics(made.client, {made.name: 3}) == {made.name: 3}
    assert end_offsets(made.client, made.name, 3) == [0, 0, 0]
    with pytest.raises(UserMistake, match=rf"kafka\.topics\.{made.name}: found 5 partitions, the topic has 3"):
        make_topics(made.client, {made.name: 5})
    with pytest.raises(UserMistake, match=r"kafka\.topics\.no/name: it could not be made"):
        make_topics(made.client, {"no/name": 1})


def test_a_broker_that_is_not_there_is_distinguished_from_one_that_refuses() -> None:
    (port,) = free_ports(1)
    with pytest.raises(NotReachable, match=f"kafka: 127.0.0.1:{port} does not answer"):
        partitions_of({"bootstrap.servers": f"127.0.0.1:{port}"}, timeout_s=1.5)


def test_an_end_that_is_not_known_yet_is_asked_for_again_and_one_that_is_never_known_is_said_in_words() -> None:
    client, said = {"bootstrap.servers": "127.0.0.1:1"}, iter([*[-1001] * 7, 91])
    assert Asking(client, timeout_s=30.0).ask(lambda admin, within_s: known_offset("numbers", 0, next(said))) == 91
    with pytest.raises(NotReachable, match="partition 0 of numbers has no leader yet"):
        Asking(client, timeout_s=1.5).ask(lambda admin, within_s: known_offset("numbers", 0, -1001))


def test_options_that_make_no_client_are_the_users_mistake() -> None:
    with pytest.raises(UserMistake, match="the client's options are not accepted"):
        partitions_of({"bootstrap.servers": "127.0.0.1:1", "security.protocol": "none such"})
