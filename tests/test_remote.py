import json
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from penstock.core.errors import NotReachable, Refused, UserMistake
from penstock.remote import LONGEST_LINE, RemoteJob, SocketServer, answered, user_name

ME = user_name(os.getuid())


def echo(verb: str, asked: Mapping[str, Any], who: str) -> Mapping[str, Any]:
    if verb == "fail":
        raise UserMistake("that cannot be")
    if verb == "break":
        raise RuntimeError("a bug")
    return {"verb": verb, "value": asked.get("value"), "who": who}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "job" / "socket"


@pytest.fixture
def server(path: Path) -> Iterator[SocketServer]:
    serving = SocketServer(path, echo)
    yield serving
    serving.close()


def test_a_folder_that_was_made_for_the_socket_alone_goes_with_it(path: Path) -> None:
    SocketServer(path, echo).close()
    assert not path.parent.exists()
    path.parent.mkdir()
    (path.parent / "history.db").touch()
    SocketServer(path, echo).close()
    assert [each.name for each in path.parent.iterdir()] == ["history.db"]


def raw(path: Path, content: bytes) -> Any:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(5)
        connection.connect(str(path))
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        return json.loads(connection.makefile("rb").readline())


@pytest.mark.parametrize(("verb", "said"), [("fail", r"^that cannot be$"), ("break", r"^RuntimeError: a bug$")], ids=["a refusal", "a bug"])
def test_a_refusal_or_a_bug_is_raised_with_its_reason_and_the_server_answers_on_with_who_asked(server: SocketServer, verb: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        RemoteJob(server.path).ask(verb)
    assert RemoteJob(server.path).ask("scale", value=3) == {"verb": "scale", "value": 3, "who": ME}


def test_only_its_owner_and_root_can_reach_the_socket(server: SocketServer) -> None:
    assert stat.S_IMODE(server.path.stat().st_mode) == 0o600 and stat.S_IMODE(server.path.parent.stat().st_mode) == 0o700
    assert [answered(b'{"do": "x"}', uid, echo)["ok"] for uid in (os.getuid(), 0)] == [True, True]
    stranger = next(uid for uid in (12345, 12346) if uid != os.getuid())
    said = answered(b'{"do": "scale"}', stranger, echo)
    assert said == {"ok": False, "error": f"{user_name(stranger)} may not steer this job, it belongs to {ME}"}


@pytest.mark.parametrize("line", [b"", b"\n", b"{", b"hello\n", b"[1]\n", b"3\n", b"null\n", b"{}\n", b'"do"\n', b"\xff\xfe\n", b"[" * 100_000])
def test_what_is_no_request_is_answered_and_the_server_lives(server: SocketServer, line: bytes) -> None:
    said = raw(server.path, line)
    assert said["ok"] is False and said["error"]
    assert RemoteJob(server.path).lives()


def test_a_line_without_end_is_not_read_to_its_end(server: SocketServer) -> None:
    assert answered(b'{"do": "' + b"x" * LONGEST_LINE, os.getuid(), echo)["ok"] is False
    with pytest.raises((NotReachable, Refused)):
        RemoteJob(server.path).ask("x" * (3 * LONGEST_LINE))
    assert RemoteJob(server.path).ask("status")["verb"] == "status"


def test_many_clients_are_answered_at_once_each_with_his_own_answer(path: Path) -> None:
    together = threading.Barrier(8)

    def meet(verb: str, asked: Mapping[str, Any], who: str) -> Mapping[str, Any]:
        together.wait(25)
        return {"value": asked["value"]}

    serving = SocketServer(path, meet)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda value: RemoteJob(path).ask("x", value=value)["value"], range(8)))
    serving.close()
    assert answers == list(range(8))


def test_a_client_that_leaves_without_a_word_or_without_waiting_does_no_harm(server: SocketServer) -> None:
    for content in (b"", b'{"do": "status"}\n'):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(str(server.path))
            connection.sendall(content)
    assert RemoteJob(server.path).ask("status")["verb"] == "status"


def test_a_closed_server_leaves_no_socket_and_is_said_to_be_gone(path: Path) -> None:
    serving = SocketServer(path, echo)
    remote = RemoteJob(path)
    assert remote.lives()
    serving.close()
    assert not path.exists() and not remote.lives()
    with pytest.raises(NotReachable, match=rf"^the job does not answer at {path} \(No such file or directory\): is it running\?$"):
        remote.ask("status")


def test_a_socket_left_by_a_killed_host_is_dead_and_taken_over(path: Path) -> None:
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))
    assert path.exists() and not RemoteJob(path).lives()
    with pytest.raises(NotReachable, match="Connection refused"):
        RemoteJob(path).ask("status")
    serving = SocketServer(path, echo)
    assert RemoteJob(path).lives()
    serving.close()


@pytest.mark.parametrize(("answer", "said"), [(lambda peer: peer.close(), "ended before it answered"), (lambda peer: None, "timed out")])
def test_a_host_that_ends_or_hangs_while_it_is_asked_is_not_reachable(path: Path, answer: Callable[[socket.socket], None], said: str) -> None:
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening, ThreadPoolExecutor(1) as pool:
        listening.bind(str(path))
        listening.listen()
        asked = pool.submit(RemoteJob(path, timeout_s=0.2).ask, "status")
        peer, _ = listening.accept()
        with peer:
            peer.recv(1000)
            answer(peer)
            with pytest.raises(NotReachable, match=said):
                asked.result(5)
