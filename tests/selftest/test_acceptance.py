import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

from penstock.cli.selftest import measure_all
from penstock.core.errors import UserMistake


@dataclass(frozen=True)
class Quick:
    ms: float = 3.0

    def rows(self) -> list[tuple[str, str]]:
        return [("a turn", f"{self.ms:g} ms")]


def stolen(progress: Callable[[float, int], None]) -> Quick:
    raise UserMistake("CPU steal: nothing can be compared")


def failing(progress: Callable[[float, int], None]) -> Quick:
    raise RuntimeError("quiet: the demonstration ended with exit code 2")


def test_what_cannot_be_measured_is_named_and_the_rest_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        measure_all({"honesty": stolen, "demonstration": failing, "speed": lambda progress: Quick()}, tmp_path)
    assert ended.value.exit_code == 1 and "honesty: not measured" in capsys.readouterr().err
    assert json.loads((tmp_path / "acceptance.json").read_text()) == {
        "honesty": {"why": "CPU steal: nothing can be compared", "missed": ["not measured"]},
        "demonstration": {"why": "quiet: the demonstration ended with exit code 2", "missed": ["not measured"]},
        "speed": {"ms": 3.0},
    }
    assert "CPU steal" in (tmp_path / "acceptance.txt").read_text()
    measure_all({"speed": lambda progress: Quick()}, tmp_path)
