"""Ask a tool of the command line as a user would: the table or the JSON object it prints, the one line it refuses with, or the picture it draws."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.core.errors import UserMistake


def found(*arguments: object, code: int = 0) -> dict[str, Any]:
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return dict(json.loads(done.stdout))


def table(*arguments: object, code: int = 0) -> str:
    """What people see: the table that a command prints on a wide screen, its lines joined."""
    done = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False, env={"COLUMNS": "200"})
    assert done.exit_code == code, done.output
    return " ".join(done.stdout.split())


def shown(*arguments: object, columns: int = 120) -> str:
    """What people see on a screen of this many columns, line by line."""
    done = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False, env={"COLUMNS": str(columns)})
    assert done.exit_code == 0, done.output
    return done.stdout


def mistake(*arguments: object) -> str:
    with pytest.raises(UserMistake) as raised:
        CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def drawn(folder: Path, *arguments: object) -> str:
    """The picture that a command draws, as SVG: its words can be looked for."""
    picture = folder / "picture.svg"
    done = CliRunner().invoke(app, [*map(str, arguments), "--plot", str(picture)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return picture.read_text()


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path
