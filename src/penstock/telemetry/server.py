"""The HTTP endpoint for metrics and for health checks."""

import errno
import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from threading import Thread
from urllib.parse import urlsplit

from prometheus_client import CONTENT_TYPE_LATEST

from penstock.core.errors import UserMistake

DEFAULT_HOST = "127.0.0.1"
_REMEDY = 'give another, port 0 for any free one, or "off"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether the job is healthy, with the reason and the state of each query."""

    ok: bool
    reason: str
    since_reading_s: float | None = None
    queries: Mapping[str, str] = field(default_factory=dict)


class TelemetryServer:
    """Answers `/metrics` and `/healthz` from a daemon thread until closed; port 0 takes any free one."""

    def __init__(self, address: str, metrics: Callable[[], bytes], health: Callable[[], Health]) -> None:
        self._server = _bound(address, _Answers(metrics, health))
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="penstock-telemetry", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Where it listens, as `host:port`."""
        host, port = self._server.server_address[:2]
        return f"[{host!s}]:{port}" if ":" in str(host) else f"{host!s}:{port}"

    def close(self) -> None:
        """End the thread and free the port; a second call does nothing."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


def parse_address(address: str) -> tuple[str, int]:
    """Return host and port of an address; without a host it is this machine.

    >>> parse_address("0.0.0.0:9095"), parse_address("9095"), parse_address("[::1]:0")
    (('0.0.0.0', 9095), ('127.0.0.1', 9095), ('::1', 0))
    """
    host, _, port = address.strip().rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= 65535):
        raise UserMistake(f'metrics address: found {address!r}, "host:port" with a port from 0 to 65535, or "off", is allowed')
    return host.strip("[]") or DEFAULT_HOST, int(port)


@dataclass(frozen=True, slots=True)
class _Answers:
    """The answer of each path: status, content type and body."""

    metrics: Callable[[], bytes]
    health: Callable[[], Health]

    def to(self, path: str) -> tuple[HTTPStatus, str, bytes]:
        try:
            if path == "/metrics":
                return HTTPStatus.OK, CONTENT_TYPE_LATEST, self.metrics()
            if path == "/healthz":
                health = self.health()
                return HTTPStatus.OK if health.ok else HTTPStatus.SERVICE_UNAVAILABLE, "application/json", _json(asdict(health))
        except Exception as error:
            return HTTPStatus.INTERNAL_SERVER_ERROR, "application/json", _json({"ok": False, "reason": f"{type(error).__name__} while answering"})
        return HTTPStatus.NOT_FOUND, "application/json", _json({"reason": "there are /metrics and /healthz"})


def _json(body: Mapping[str, object]) -> bytes:
    return (json.dumps(body) + "\n").encode()


class _Server(ThreadingHTTPServer):
    """Binds without a reverse DNS look-up of its own name, which can take seconds."""

    daemon_threads = True

    def __init__(self, host: str, port: int, answers: _Answers) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.answers = answers
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        TCPServer.server_bind(self)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore it: only a client that went away fails outside of the answers."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 10

    def do_GET(self) -> None:
        status, content_type, body = self.server.answers.to(urlsplit(self.path).path)
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815

    def version_string(self) -> str:
        return "penstock"

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: a scrape comes every few seconds."""


def _bound(address: str, answers: _Answers) -> _Server:
    host, port = parse_address(address)
    try:
        return _Server(host, port, answers)
    except OSError as error:
        why = "the port is in use" if error.errno == errno.EADDRINUSE else (error.strerror or str(error)).lower()
        raise UserMistake(f"metrics address {address}: {why}; {_REMEDY}") from None
