"""The keeper of the embedded cluster."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from penstock.localhost import free_ports
from penstock.spark.embedded.keeper import workers_alive

PAGES = [b"", b"<html>soon</html>", b'{"aliveworkers": 1}']


class Master(BaseHTTPRequestHandler):
    """Answers as Spark's Master does while its pages are being put up."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(PAGES.pop(0))

    def log_message(self, format: str, *args: object) -> None:
        return


def test_a_master_that_is_not_ready_yet_is_asked_again() -> None:
    (unused,) = free_ports(1)
    assert workers_alive(unused) == 0
    server = HTTPServer(("127.0.0.1", 0), Master)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert [workers_alive(server.server_port) for _ in range(3)] == [0, 0, 1]
    server.shutdown()
    server.server_close()
