import base64
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.job_spec import CpuQuery
from penstock.runtime.fakes import FakeClock
from penstock.spark import prometheus_cpu
from penstock.spark.prometheus_cpu import PrometheusCpu

QUERY = 'sum by (executor_id) (rate(cpu_seconds_total{job="a b"}[30s]))'


class FakePrometheus(ThreadingHTTPServer):
    """Answers every question with `status` and `body`, and remembers the questions."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.body, self.headers = 200, b"", dict[str, str]()
        self.wait_s = self.drop_s = 0.0
        self.asked: list[tuple[str, str | None]] = []

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def answer(self, *series: tuple[dict[str, str], str], kind: str = "vector") -> None:
        found = [{"metric": metric, "value": [1700000000.0, value]} for metric, value in series]
        self.say({"status": "success", "data": {"resultType": kind, "result": found}})

    def say(self, document: Any, status: int = 200) -> None:
        self.status, self.body = status, json.dumps(document).encode()


class _Handler(BaseHTTPRequestHandler):
    server: FakePrometheus

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        time.sleep(self.server.wait_s)
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.body)))
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        for piece in [self.server.body[at : at + 1] for at in range(len(self.server.body))] if self.server.drop_s else [self.server.body]:
            try:
                self.wfile.write(piece)
            except OSError:
                return
            time.sleep(self.server.drop_s)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[FakePrometheus]]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = [FakePrometheus(), FakePrometheus()]
    for each in made:
        threading.Thread(target=each.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield made
    for each in made:
        each.shutdown()
        each.server_close()


@pytest.fixture
def server(servers: list[FakePrometheus]) -> FakePrometheus:
    return servers[0]


ONE, SAME = ({"executor_id": "1"}, "1"), ({"executor_id": "1"}, "2")


def asking(server: FakePrometheus, before: str = "", after: str = "", **more: Any) -> PrometheusCpu:
    return PrometheusCpu(CpuQuery(url=f"http://{before}{server.place}{after}", query=QUERY), **more)


def test_the_cores_of_each_executor_are_found_by_the_value_of_the_label_and_values_that_are_none_left_out(server: FakePrometheus) -> None:
    server.answer(({"executor_id": "1", "pod": "a"}, "0.75"), ({"executor_id": "2"}, "1.5e0"))
    cpu = asking(server)
    assert cpu.cores() == {"1": 0.75, "2": 1.5} and cpu.problem is None
    cpu.cores().clear()
    assert cpu.cores() == {"1": 0.75, "2": 1.5}, "the caller cannot change what is remembered"
    server.answer(({"executor_id": "1"}, "NaN"), ({"executor_id": "2"}, "+Inf"), ({"executor_id": "3"}, "-1"), ({"executor_id": "4"}, "0"))
    assert asking(server).cores() == {"4": 0.0}


@pytest.mark.parametrize("after", ["", "/", "/under/here/"])
def test_the_query_is_asked_as_it_is_below_the_urls_path(server: FakePrometheus, after: str) -> None:
    asking(server, after=after).cores()
    url = urlsplit(server.asked[0][0])
    assert url.path == f"{after.rstrip('/')}/api/v1/query" and parse_qs(url.query) == {"query": [QUERY]}


def test_an_answer_holds_for_two_seconds(server: FakePrometheus) -> None:
    clock = FakeClock(1000.0)
    cpu = asking(server, now=clock.now_s)
    server.answer(ONE)
    assert cpu.cores() == {"1": 1.0}
    server.answer(SAME)
    clock.wait(1.9)
    assert cpu.cores() == {"1": 1.0}
    clock.wait(0.1)
    assert cpu.cores() == {"1": 2.0} and len(server.asked) == 2


def test_user_and_password_go_into_the_header_and_never_into_the_problem(server: FakePrometheus) -> None:
    server.say({"status": "error", "error": "not for amy with s@fe/1, s%40fe%2F1 or YW15OnNAZmUvMQ=="}, status=422)
    cpu = asking(server, before="amy:s%40fe%2F1@")
    assert cpu.cores() == {}
    assert base64.b64decode((server.asked[0][1] or "").removeprefix("Basic ")) == b"amy:s@fe/1"
    assert cpu.problem == f"Prometheus at http://{server.place}: not for *** with ***, *** or ***"


def test_the_header_does_not_follow_a_redirect(servers: list[FakePrometheus]) -> None:
    server, elsewhere = servers
    elsewhere.answer(ONE)
    server.status, server.headers = 302, {"Location": f"http://{elsewhere.place}/x"}
    assert asking(server, before="amy:secret@").cores() == {"1": 1.0} and elsewhere.asked == [("/x", None)]


UNREADABLE = ["http://amy:pa/ss@host", "http://amy:12/ss@host", "http://amy:pa#ss@host", "http://amy:pa?ss@host", "http://[amy:pass@host", "file:///etc"]


@pytest.mark.parametrize("url", [*UNREADABLE, "host:9090", ""])
def test_a_url_that_cannot_be_read_is_refused_without_being_shown(url: str) -> None:
    cpu = PrometheusCpu(CpuQuery(url=url, query="up"))
    assert cpu.cores() == {}
    assert cpu.problem is not None and cpu.problem.startswith("Prometheus: the URL cannot be read; write http://host:port")
    assert "amy" not in cpu.problem and "ss@" not in cpu.problem


def problem_of(server: FakePrometheus, before: str = "") -> str | None:
    """The problem of a question that gets no cores."""
    cpu = asking(server, before=before)
    assert cpu.cores() == {}
    return (cpu.problem or "").removeprefix(f"Prometheus at http://{server.place}: ")


def test_what_prometheus_refuses_is_reported_in_one_line(server: FakePrometheus, monkeypatch: pytest.MonkeyPatch) -> None:
    server.say({"status": "error", "errorType": "bad_data", "error": "parse error:\n unexpected end"}, status=400)
    assert problem_of(server) == "parse error: unexpected end"
    server.status, server.body = 401, b""
    assert problem_of(server, "amy:wrong@") == "it refuses with HTTP 401 Unauthorized; look at the user name and password in the URL"
    monkeypatch.setattr(prometheus_cpu, "LONGEST_ANSWER_BYTES", 10)
    server.answer(ONE)
    assert problem_of(server) == "the answer is longer than 10 bytes; look at the query"


def vector(series: bytes) -> bytes:
    return b'{"status": "success", "data": {"resultType": "vector", "result": [' + series + b"]}}"


NO_JSON = [b"", b"<html>hello</html>", b"\xff\xfe", b"[" * 100_000]
NO_RESULT = [b"null", b"[]", b"{}", b'{"status": "success"}', b'{"status": "success", "data": []}']
NO_SERIES = [
    b"1",
    b'{"metric": {"executor_id": "1"}, "value": []}',
    b'{"metric": {"executor_id": "1"}, "value": [0, "much"]}',
    b'{"metric": {"executor_id": []}, "value": [0, "1"]}',
]


@pytest.mark.parametrize("body", [*NO_JSON, *NO_RESULT, *map(vector, NO_SERIES)])
def test_nonsense_gives_no_cores_and_one_line(server: FakePrometheus, body: bytes) -> None:
    server.body = body
    assert problem_of(server) == "that is no answer of Prometheus's; look at the URL"


@pytest.mark.parametrize(
    ("kind", "series", "said"),
    [
        ("matrix", [], "the query gives a matrix, an instant vector is needed; look at the query"),
        ("vector", [], "the query finds no series; look at the query"),
        ("vector", [({"pod": "a"}, "1")], 'no series has the label "executor_id"; look at the query and the label'),
        ("vector", [ONE, SAME], 'several series have the same "executor_id"; write "sum by (executor_id) (...)" around the query'),
    ],
)
def test_a_result_that_does_not_name_each_executor_once_is_reported(server: FakePrometheus, kind: str, series: list[Any], said: str) -> None:
    server.answer(*series, kind=kind)
    assert problem_of(server) == said


def test_a_server_that_is_not_there_is_reported_without_its_password(server: FakePrometheus) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
    cpu = PrometheusCpu(CpuQuery(url=f"http://amy:secret@{place}", query="up"))
    assert cpu.cores() == {} and cpu.problem == f"Prometheus at http://{place}: it cannot be reached (Connection refused)"


@pytest.mark.parametrize("slowness", [{"wait_s": 1.0}, {"drop_s": 0.05}])
def test_a_slow_server_does_not_keep_the_caller_waiting(server: FakePrometheus, slowness: dict[str, float]) -> None:
    server.answer(ONE)
    vars(server).update(slowness)
    cpu = asking(server, timeout_s=0.2)
    began_s = time.monotonic()
    assert cpu.cores() == {} and time.monotonic() - began_s < 0.8
    assert cpu.problem == f"Prometheus at http://{server.place}: no answer in time"


def test_a_problem_is_gone_with_the_next_good_answer(server: FakePrometheus) -> None:
    clock = FakeClock(1000.0)
    cpu = asking(server, now=clock.now_s)
    assert cpu.cores() == {} and cpu.problem
    server.answer(ONE)
    clock.wait(2)
    assert cpu.cores() == {"1": 1.0} and cpu.problem is None


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["status", "data", "resultType", "result", "metric", "value", "error"]), inner),
    max_leaves=10,
)


@given(JSON)
def test_no_document_is_more_than_a_line(document: Any) -> None:
    reply = prometheus_cpu.Server.of("http://here")
    try:
        cores = prometheus_cpu.cores_of(document, "executor_id")
    except Exception as error:
        line = reply.problem(prometheus_cpu._reason(error))
        assert line.startswith("Prometheus at http://here: ") and "\n" not in line and len(line) <= prometheus_cpu.LONGEST_PROBLEM
    else:
        assert all(value >= 0 for value in cores.values())
