import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from penstock.localhost import free_ports
from penstock.spark.embedded import spawn, workers_alive

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


def test_what_executors_print_and_leave_is_bounded_by_settings_of_the_worker_that_starts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *_, env, **__: started.append(env))
    spawn(tmp_path, "org.apache.spark.deploy.worker.Worker")
    options = started[0]["SPARK_DAEMON_JAVA_OPTS"]
    assert "-Dspark.executor.logs.rolling.strategy=size" in options and "-Dspark.executor.logs.rolling.maxRetainedFiles=2" in options
    assert "-Dspark.worker.cleanup.enabled=true" in options
