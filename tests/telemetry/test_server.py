import json
import socket
import struct
import threading
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families
from waiting import wait_until

from penstock.core.domain.job_spec import Promises
from penstock.core.errors import UserMistake
from penstock.telemetry.exposition import metrics_text
from penstock.telemetry.server import Health, TelemetryServer, parse_address

WELL = Health(ok=True, reason="readings come", since_reading_s=1.5, queries={"lookup": "running"})


def metrics() -> bytes:
    return metrics_text("demo", None, {"RunStarted": 1}, Promises())


@pytest.fixture
def server() -> Iterator[TelemetryServer]:
    server = TelemetryServer("127.0.0.1:0", metrics, lambda: WELL)
    yield server
    server.close()


def get(server: TelemetryServer, path: str) -> tuple[int, str, bytes]:
    try:
        with urlopen(f"http://{server.address}{path}", timeout=30) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read()
    except HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read()


def test_metrics_are_served_as_prometheus_reads_them_and_a_well_job_answers_200(server: TelemetryServer) -> None:
    status, content_type, body = get(server, "/metrics?name=any")
    assert (status, body) == (200, metrics())
    assert content_type.startswith("text/plain; version=")
    assert "penstock_events" in {family.name for family in text_string_to_metric_families(body.decode())}
    status, content_type, body = get(server, "/healthz")
    assert (status, content_type) == (200, "application/json")
    assert json.loads(body) == {"ok": True, "reason": "readings come", "since_reading_s": 1.5, "queries": {"lookup": "running"}}


def test_an_ill_job_answers_503_and_says_why() -> None:
    server = TelemetryServer("127.0.0.1:0", metrics, lambda: Health(ok=False, reason="query lookup is given up"))
    try:
        status, _, body = get(server, "/healthz")
    finally:
        server.close()
    assert (status, json.loads(body)["reason"]) == (503, "query lookup is given up")


@pytest.mark.parametrize("path", ["/", "/metrics/", "/../etc/passwd", "/healthz/x"])
def test_anything_else_is_404(server: TelemetryServer, path: str) -> None:
    assert get(server, path)[0] == 404


def test_an_error_while_answering_is_500_without_its_text() -> None:
    def broken() -> bytes:
        raise RuntimeError("password=hunter2")

    server = TelemetryServer("127.0.0.1:0", broken, lambda: WELL)
    try:
        status, _, body = get(server, "/metrics")
        assert get(server, "/healthz")[0] == 200
    finally:
        server.close()
    assert status == 500
    assert b"RuntimeError" in body
    assert b"hunter2" not in body


def test_a_port_in_use_or_a_host_that_is_not_here_is_one_line_that_says_what_to_do(server: TelemetryServer) -> None:
    with pytest.raises(UserMistake) as caught:
        TelemetryServer(server.address, metrics, lambda: WELL)
    assert str(caught.value) == f'metrics address {server.address}: the port is in use; give another, port 0 for any free one, or "off"'
    with pytest.raises(UserMistake, match=r"metrics address 192\.0\.2\.1:0: .*; give another"):
        TelemetryServer("192.0.2.1:0", metrics, lambda: WELL)


@pytest.mark.parametrize("address", ["", "localhost", "localhost:http", "localhost:70000", "host:-1", "host:²"])
def test_an_address_that_is_none_is_one_line(address: str) -> None:
    with pytest.raises(UserMistake, match=r'metrics address: found .*, "host:port"'):
        parse_address(address)


def test_closing_frees_the_port_and_ends_the_thread(server: TelemetryServer) -> None:
    address = server.address
    server.close()
    server.close()
    assert "penstock-telemetry" not in {thread.name for thread in threading.enumerate()}
    again = TelemetryServer(address, metrics, lambda: WELL)
    assert again.address == address and get(again, "/healthz")[0] == 200
    again.close()


def test_a_client_that_resets_the_connection_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slow() -> bytes:
        asked.set()
        go_on.wait(30)
        return b"x" * 10_000_000

    server = TelemetryServer("127.0.0.1:0", slow, lambda: WELL)
    host, port = parse_address(server.address)
    client = socket.create_connection((host, port))
    client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
    assert asked.wait(30)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    go_on.set()
    wait_until(lambda: not any("process_request" in thread.name for thread in threading.enumerate()))
    server.close()
    assert capfd.readouterr().err == ""
