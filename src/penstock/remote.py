"""The socket through which other processes of the same user reach a driver host: one JSON line asks, one answers."""

import json
import os
import pwd
import socket
import socketserver
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock.core.errors import NotReachable, PenstockError, Refused

LONGEST_LINE = 1_000_000
Handle = Callable[[str, Mapping[str, Any], str], Mapping[str, Any]]


class SocketServer:
    """Listens on a Unix socket that only its owner can reach; `handle(verb, arguments, who)` answers, and may raise PenstockError."""

    def __init__(self, path: Path, handle: Handle) -> None:
        self.path = path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        self._server = _Server(str(path), _request_handler(handle))
        os.chmod(path, 0o600)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="penstock-socket", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.path.unlink(missing_ok=True)
        with suppress(OSError):
            self.path.parent.rmdir()  # removes a folder that was made for sockets alone


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64
    """Clients that may wait; the next one is refused at once."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore it: only a client that went away fails outside of the answers."""


def peer_uid(connection: socket.socket) -> int:
    """Return the user id of the process at the other end, from the kernel."""
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return int(uid)


def user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _request_handler(handle: Handle) -> type[socketserver.StreamRequestHandler]:
    class Request(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            uid = peer_uid(self.connection)
            answer = answered(self.rfile.readline(LONGEST_LINE), uid, handle)
            try:
                self.wfile.write(json.dumps(answer).encode() + b"\n")
            except (BrokenPipeError, ConnectionResetError):
                pass

    return Request


def answered(line: bytes, uid: int, handle: Handle) -> Mapping[str, Any]:
    """Return the answer to one line from a user; never raises."""
    if uid not in (os.getuid(), 0):
        return {"ok": False, "error": f"{user_name(uid)} may not steer this job, it belongs to {user_name(os.getuid())}"}
    try:
        asked = json.loads(line)
        return {"ok": True, **handle(str(asked["do"]), asked, user_name(uid))}
    except PenstockError as error:
        return {"ok": False, "error": str(error)}
    except (ValueError, KeyError, TypeError) as error:
        return {"ok": False, "error": f"the request was not understood: {type(error).__name__}: {error}"}
    except Exception as error:
        return {"ok": False, "error": f"{type(error).__name__}: {error}"}


class RemoteJob:
    """A running job, reached through its socket."""

    def __init__(self, path: Path, timeout_s: float = 30.0) -> None:
        self._path = path
        self._timeout_s = timeout_s

    def lives(self) -> bool:
        """Return whether a process listens at the socket."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            return connection.connect_ex(str(self._path)) == 0

    def ask(self, verb: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer; raise `Refused` with the reason, or `NotReachable`."""
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
            raise NotReachable(f"the job at {self._path} ended before it answered")
        answer = dict(json.loads(line))
        if not answer.pop("ok"):
            raise Refused(str(answer["error"]))
        return answer
