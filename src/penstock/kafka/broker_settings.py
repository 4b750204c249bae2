"""The settings of an embedded broker, and the file they are kept in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from penstock.localhost import HOST

DATA = "data"


def broker_settings(controller_port: int, listeners: Mapping[str, tuple[str, int]]) -> dict[str, str]:
    """A single node that is broker and controller; `listeners` are its security protocols and ports by name, its data is in the folder it runs in."""
    addresses = [f"{name}://{HOST}:{port}" for name, (_, port) in listeners.items()]
    protocols = [f"{name}:{protocol}" for name, (protocol, _) in listeners.items()]
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": ",".join([*addresses, f"CONTROLLER://{HOST}:{controller_port}"]),
        "advertised.listeners": ",".join(addresses),
        "listener.security.protocol.map": ",".join([*protocols, "CONTROLLER:PLAINTEXT"]),
        "inter.broker.listener.name": next(iter(listeners)),
        "log.dirs": DATA,
        "auto.create.topics.enable": "false",
        "default.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        "broker.session.timeout.ms": "6000",  # what one that was killed makes its next start wait
        "broker.heartbeat.interval.ms": "1000",
        "num.network.threads": "2",
        "num.io.threads": "2",
    }


def as_properties(settings: Mapping[str, str]) -> str:
    r"""Settings as Java reads them from a file.

    >>> print(as_properties({"login": 'a="b\\c"', "name": " ü"}), end="")
    login=a="b\\c"
    name=\ \u00fc
    """
    return "".join(f"{name}={_escaped(value)}\n" for name, value in settings.items())


def write_private(path: Path, text: str) -> None:
    """Write a file that is never readable by others, not even for a moment."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(text)


def _escaped(value: str) -> str:
    plain = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    units = plain.encode("utf-16-be")
    ascii_text = "".join(chr(unit) if unit < 128 else f"\\u{unit:04x}" for unit in (int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2)))
    return f"\\{ascii_text}" if ascii_text.startswith(" ") else ascii_text
