"""Ask a driver host in another process."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from penstock.core.errors import NotReachable, Refused


class RemoteJob:
    """A running job, reached through its socket."""

    def __init__(self, path: Path, timeout_s: float = 30.0) -> None:
        self._path = path
        self._timeout_s = timeout_s

    def lives(self) -> bool:
        """Whether somebody listens at the socket."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            return connection.connect_ex(str(self._path)) == 0

    def ask(self, verb: str, **arguments: Any) -> dict[str, Any]:
        """The answer, or `Refused` with the reason, or `NotReachable`."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(self._timeout_s)
                connection.connect(str(self._path))
                connection.sendall(json.dumps({"do": verb, **arguments}).encode() + b"\n")
                with connection.makefile("rb") as stream:
                    line = stream.readline()
        except OSError as error:
            raise NotReachable(f"the job does not answer at {self._path} ({error.strerror or error}): is it running?") from None
        if not line:
            raise NotReachable(f"the job at {self._path} ended while it was asked")
        answer = dict(json.loads(line))
        if not answer.pop("ok"):
            raise Refused(str(answer["error"]))
        return answer
