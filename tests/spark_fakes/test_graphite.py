import re
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import wait_until

from penstock.core.errors import UserMistake
from penstock.runtime.fakes import FakeClock
from penstock.spark import graphite
from penstock.spark.graphite import CpuReports, GraphiteCpu, graphite_settings, parse_line, value_at

APP = "app-20250101120000-0007"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1000.0)


@pytest.fixture
def cpu(clock: FakeClock) -> Iterator[GraphiteCpu]:
    listener = GraphiteCpu("127.0.0.1", application_id=APP, now=clock.now_s)
    yield listener
    listener.close()


def heard(cpu: GraphiteCpu, clock: FakeClock, *pieces: bytes) -> Callable[[str], float | None]:
    """Send these pieces, and let the time pass after which their counters are known."""
    send(cpu, *pieces)
    clock.wait(2)
    return cpu.cpu_s


def line(executor_id: str, cpu_s: float, application_id: str = APP) -> bytes:
    return f"{application_id}.{executor_id}.JVMCPU.jvmCpuTime {round(cpu_s * 1e9)} 1700000000\n".encode()


def send(cpu: GraphiteCpu, *pieces: bytes) -> None:
    """As Spark does: a connection for each report."""
    with socket.create_connection(cpu.address, timeout=5) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            client.sendall(piece)
        client.shutdown(socket.SHUT_WR)
        while client.recv(1024):
            pass


def is_cut(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def test_between_two_reports_the_counter_is_interpolated(cpu: GraphiteCpu, clock: FakeClock) -> None:
    send(cpu, line("1", 10.0))
    clock.wait(1)
    send(cpu, line("1", 11.0))
    clock.wait(1.25)
    assert cpu.cpu_s("1") == pytest.approx(10.25)


def test_the_cpu_of_an_executor_is_known_from_2_seconds_after_its_first_report_until_30_after_its_last(cpu: GraphiteCpu, clock: FakeClock) -> None:
    send(cpu, line("1", 10.0))
    for wait_s, known in ((1.9, None), (28.1, 10.0), (0.5, None)):
        clock.wait(wait_s)
        assert cpu.cpu_s("1") == known
    send(cpu, line("1", 40.0))
    assert cpu.cpu_s("1") is not None


def test_only_whole_lines_of_our_application_are_taken(cpu: GraphiteCpu, clock: FakeClock) -> None:
    whole = line("1", 1.5) + line("2", 2.5) + line("3", 5.0)[:-15]
    cpu_s = heard(cpu, clock, *(whole[at : at + 1] for at in range(len(whole))))
    assert (cpu_s("1"), cpu_s("2"), cpu_s("3")) == (1.5, 2.5, None)
    owners = ("app-other", f"x{APP}", f"{APP}.more", f"a.prefix.{APP}")
    cpu_s = heard(cpu, clock, *(line(str(number), 9.0, owner) for number, owner in enumerate(owners, 4)))
    assert [cpu_s(each) for each in "4567"] == [None, None, None, 9.0]
    text = line("8", 3.0)
    assert heard(cpu, clock, b"p" * (graphite.LONGEST_LINE_BYTES - len(text) - 1) + b"." + text)("8") == 3.0


@pytest.mark.parametrize(
    "junk",
    [
        b"\n\r\n \n",
        b"\xff\xfe\x00 1 2\n",
        b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
        *(f"{APP}.1.JVMCPU.jvmCpuTime{value}\n".encode() for value in ("", " much 1700000000", " nan 1700000000", " inf 1700000000", " -1 1700000000")),
        f"{APP}.1.executor.cpuTime 99 1700000000\n".encode(),
        f"{APP}..JVMCPU.jvmCpuTime 99 1700000000\n".encode(),
    ],
)
def test_junk_changes_nothing_and_the_next_line_is_heard(cpu: GraphiteCpu, clock: FakeClock, junk: bytes) -> None:
    cpu_s = heard(cpu, clock, junk, line("2", 7.0))
    assert (cpu_s("1"), cpu_s("2")) == (None, 7.0)


def test_a_huge_line_ends_its_connection_and_no_other(cpu: GraphiteCpu, clock: FakeClock) -> None:
    with socket.create_connection(cpu.address, timeout=5) as client, pytest.raises(OSError):
        while True:
            client.sendall(b"x" * 65536)
    assert heard(cpu, clock, line("1", 3.0))("1") == 3.0


def test_many_connections_at_once_are_all_heard(cpu: GraphiteCpu, clock: FakeClock) -> None:
    senders = [threading.Thread(target=send, args=(cpu, line(str(each), each))) for each in range(100)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    clock.wait(2)
    assert [cpu.cpu_s(str(each)) for each in range(100)] == list(range(100))


def test_connections_past_the_limit_are_cut_and_those_inside_live_on(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> None:
    monkeypatch.setattr(graphite, "MOST_CONNECTIONS", 2)
    cpu = GraphiteCpu("127.0.0.1", application_id=APP, now=clock.now_s)
    inside = [socket.create_connection(cpu.address, timeout=5) for _ in range(2)]
    wait_until(lambda: len(cpu._connections) == 2, 5)
    with socket.create_connection(cpu.address, timeout=5) as third:
        assert is_cut(third)
    inside[0].sendall(line("1", 3.0))
    wait_until(lambda: len(cpu._reports) == 1, 5)
    for each in inside:
        each.close()
    cpu.close()


def test_a_connection_that_lasts_too_long_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphite, "LONGEST_CONNECTION_S", 0.05)
    cpu = GraphiteCpu("127.0.0.1", application_id=APP)
    with socket.create_connection(cpu.address, timeout=5) as idle:
        assert is_cut(idle)
    wait_until(lambda: not cpu._connections, 5)
    cpu.close()


def test_no_line_is_taken_before_the_application_is_known_and_another_application_starts_from_nothing(clock: FakeClock) -> None:
    cpu = GraphiteCpu("127.0.0.1", now=clock.now_s)
    assert heard(cpu, clock, line("1", 9.0))("1") is None
    cpu.listen_to(APP)
    assert heard(cpu, clock, line("1", 10.0))("1") == 10.0
    cpu.listen_to("app-next")
    assert cpu.cpu_s("1") is None
    cpu.close()


def test_a_namespace_with_blanks_is_known_by_the_dashes_the_sink_writes() -> None:
    reports = CpuReports()
    reports.belong_to(" my  job ")
    reports.hear(line("1", 4.0, "my-job"), 0.0)
    assert reports.cpu_s("1", 0.0, 0.0) == 4.0


def test_executors_past_the_limit_are_refused_until_others_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphite, "MOST_EXECUTORS", 3)
    reports = CpuReports()
    reports.belong_to(APP)
    for each in range(5):
        reports.hear(line(str(each), 1.0), float(each))
    assert len(reports) == 3
    reports.hear(line("0", 2.0), 3000.0)
    reports.hear(line("9", 2.0), 3603.0)
    assert len(reports) == 2 and reports.cpu_s("9", 3603.0, 3603.0) == 2.0


def test_the_port_is_free_after_close_a_second_close_does_nothing_and_one_at_once_ends_the_thread(clock: FakeClock) -> None:
    cpu = GraphiteCpu("127.0.0.1", application_id=APP, now=clock.now_s)
    idle = socket.create_connection(cpu.address, timeout=5)
    wait_until(lambda: len(cpu._connections) == 1, 5)
    cpu.close()
    cpu.close()
    assert not cpu._thread.is_alive() and is_cut(idle)
    idle.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(cpu.address, timeout=5)
    for _ in range(20):
        (cpu := GraphiteCpu("127.0.0.1")).close()
        assert not cpu._thread.is_alive()


def test_an_address_that_is_not_available_is_one_line(cpu: GraphiteCpu) -> None:
    with pytest.raises(UserMistake, match=r"cannot listen for the CPU of executors on 127\.0\.0\.1:\d+: address already in use; give another address"):
        GraphiteCpu("127.0.0.1", port=cpu.address[1])
    with pytest.raises(UserMistake, match=r"on 192\.0\.2\.1:0: cannot assign requested address; give another address"):
        GraphiteCpu("192.0.2.1")


def test_the_settings_are_those_of_sparks_graphite_sink_with_one_metric_and_a_period_of_at_least_a_second() -> None:
    prefix, settings = "spark.metrics.conf.executor.sink.penstock.", graphite_settings("10.0.0.5", 4321, period_s=2)
    named = {name.removeprefix(prefix): value for name, value in settings.items()}
    pattern = named.pop("regex")
    kind = "org.apache.spark.metrics.sink.GraphiteSink"
    assert named == {"class": kind, "host": "10.0.0.5", "port": "4321", "period": "2", "unit": "seconds", "protocol": "tcp"}
    assert re.search(pattern, f"{APP}.1.JVMCPU.jvmCpuTime") and not re.search(pattern, f"{APP}.1.executor.cpuTime")
    with pytest.raises(ValueError, match="period_s: found 0"):
        graphite_settings("here", 1, period_s=0)


@given(st.binary(max_size=300))
def test_no_line_is_an_exception(text: bytes) -> None:
    said = parse_line(text)
    assert said is None or said.cpu_s >= 0


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=8, unique=True), st.lists(st.floats(0, 1e6), min_size=8, max_size=8), st.data())
def test_a_growing_counter_grows_between_its_samples_too(times: list[float], values: list[float], data: st.DataObject) -> None:
    samples = list(zip(sorted(times), sorted(values), strict=False))
    first, second = sorted(data.draw(st.tuples(*[st.floats(samples[0][0], samples[-1][0] + 10)] * 2)))
    earlier, later = value_at(samples, first), value_at(samples, second)
    assert earlier is not None and later is not None
    assert samples[0][1] <= earlier <= later + 1e-6 <= samples[-1][1] + 2e-6
