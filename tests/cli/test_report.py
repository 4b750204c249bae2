import os
from pathlib import Path

import pytest
from asked import mistake
from typer.testing import CliRunner

from penstock.cli.app import app

TOOLS = [("fit", "capacity"), ("fit", "scaleout"), ("fit", "recovery"), ("fit", "latency"), ("fit", "profile"), ("forecast",)]


@pytest.mark.parametrize("command", TOOLS)
def test_it_is_refused_before_the_file_is_read(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("")
    said = mistake(*command, tmp_path / "absent.csv", "--plot", tmp_path / "file" / "picture.png")
    assert said == f"--plot: {tmp_path}/file/picture.png cannot be written: {tmp_path}/file is not a folder"
    (tmp_path / "folder.png").mkdir()
    assert mistake(*command, tmp_path / "absent.csv", "--plot", tmp_path / "folder.png").endswith("it is a folder")


def test_nothing_is_printed_where_the_picture_is_refused(tmp_path: Path) -> None:
    profiles, picture = tmp_path / "profiles.csv", tmp_path / "folder.png"
    profiles.write_text("scaleout,throughput\n2,2000\n4,4000\n")
    picture.mkdir()
    done = CliRunner().invoke(app, ["fit", "scaleout", str(profiles), "--json", "--plot", str(picture)])
    assert done.exit_code != 0 and not done.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert f"no permission to write to {tmp_path}" in mistake("fit", "scaleout", "absent.csv", "--plot", tmp_path / "picture.png")


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    profiles, picture = tmp_path / "profiles.csv", tmp_path / "new" / "folder" / "picture.svg"
    profiles.write_text("scaleout,throughput\n2,2000\n4,4000\n")
    done = CliRunner().invoke(app, ["fit", "scaleout", str(profiles), "--plot", str(picture)], catch_exceptions=False)
    assert done.exit_code == 0 and picture.exists()
