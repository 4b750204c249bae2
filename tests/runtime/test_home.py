import contextlib
import os
import stat
import tempfile
from pathlib import Path

import pytest

from penstock.core.errors import UserMistake
from penstock.remote import RemoteJob, SocketServer
from penstock.runtime.home import JobFolder, home, job_folders, short_folder


def test_the_state_is_where_the_user_says_else_where_his_system_keeps_such_things(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_HOME", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home() == tmp_path / ".local/state/penstock"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert home() == tmp_path / "xdg/penstock"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_HOME", "mine")
    assert home() == tmp_path / "mine"
    assert JobFolder("orders").path == tmp_path / "mine/jobs/orders"


def test_only_its_owner_may_look_into_a_jobs_folder(tmp_path: Path) -> None:
    folder = JobFolder("orders", tmp_path)
    folder.path.mkdir(parents=True, mode=0o755)
    folder.create()
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert {folder.history.parent, folder.lease.parent, folder.socket.parent} == {folder.path}


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        UserMistake, match=r"^the state folder .*/jobs/orders cannot be made: Not a directory; set PENSTOCK_HOME to a folder that can be written$"
    ):
        JobFolder("orders", tmp_path / "file").create()


@pytest.mark.parametrize("name", ["n" * 120, "ü" * 60])
def test_a_path_too_long_for_a_socket_is_replaced_by_a_short_one_that_works(name: str) -> None:
    """Sixty letters of two bytes are too long as well: bytes are what counts."""
    with tempfile.TemporaryDirectory(dir="/tmp") as root:
        folder = JobFolder(name, Path(root)).create()
        assert len(os.fsencode(folder.socket)) < 100
        assert folder.socket == JobFolder(name, Path(root)).socket != JobFolder(f"{name}x", Path(root)).socket
        server = SocketServer(folder.socket, lambda verb, asked, who: {})
        try:
            assert RemoteJob(folder.socket).lives()
            assert stat.S_IMODE(folder.socket.parent.stat().st_mode) == 0o700
        finally:
            server.close()
            with contextlib.suppress(OSError):
                folder.socket.parent.rmdir()


def test_all_jobs_of_this_machine_are_found_in_order(tmp_path: Path) -> None:
    assert job_folders(tmp_path) == []
    for name in ("b", "a"):
        JobFolder(name, tmp_path).create()
    (tmp_path / "jobs" / "a file").write_text("")
    assert [folder.name for folder in job_folders(tmp_path)] == ["a", "b"]


def test_a_folder_for_short_sockets_that_is_not_the_users_own_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = short_folder(tmp_path)
    assert not folder.exists()
    folder.mkdir(mode=0o700)
    assert short_folder(tmp_path) == folder
    folder.chmod(0o777)
    with pytest.raises(UserMistake, match=r"^.*/penstock-\d+ is not a folder of this user alone"):
        short_folder(tmp_path)
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(UserMistake, match="is not a folder of this user alone"):
        short_folder(tmp_path)
    foreign, nobody = tmp_path / f"penstock-{os.getuid() + 1}", os.getuid() + 1
    foreign.mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: nobody)
    with pytest.raises(UserMistake, match="is not a folder of this user alone"):
        short_folder(tmp_path)
