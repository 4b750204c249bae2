"""Free ports of this machine, for servers that may stop and start again."""

import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

HOST = "127.0.0.1"
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST, _EPHEMERAL = 10_000, 32_768


def free_ports(count: int) -> list[int]:
    """Return different free ports, below those that the kernel gives to outgoing connections.

    A client that tries to reach a stopped server could otherwise be given the server's own port, connect to itself, and keep the server from
    starting again.
    """
    with ExitStack() as held:
        found: list[int] = []
        for port in _candidates():
            probe = held.enter_context(socket.socket())
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            found.append(port)
            if len(found) == count:
                break
    return found


def listens_at(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(2.0)
        return probe.connect_ex((HOST, port)) == 0


def _candidates() -> Iterator[int]:
    first = int(_RANGE.read_text().split()[0]) if _RANGE.exists() else _EPHEMERAL
    yield from random.sample(range(_LOWEST, max(first, _LOWEST + 1_000)), 1_000)
