import sys

import pytest
from asked import mistake
from typer.testing import CliRunner

from penstock.cli import main
from penstock.cli.app import app


@pytest.mark.parametrize(
    ("arguments", "said", "where"),
    [
        ("forecast trace.csv --step 0", "'--step'", "penstock forecast"),
        ("forecast trace.csv --origins 0", "'--origins'", "penstock forecast"),
        ("forecast trace.csv --step many", "'--step'", "penstock forecast"),
        ("forecast trace.csv --nonsense", "--nonsense", "penstock forecast"),
        ("fit scaleout", "'PROFILES.CSV'", "penstock fit scaleout"),
        ("fit nonsense", "'nonsense'", "penstock fit"),
        ("nonsense", "'nonsense'", "penstock"),
        ("--nonsense", "--nonsense", "penstock"),
    ],
)
def test_it_is_one_line_that_says_where_to_look(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: str, said: str, where: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["penstock", *arguments.split()])
    with pytest.raises(SystemExit) as left:
        main()
    printed = capsys.readouterr()
    assert left.value.code == 2 and not printed.out
    assert printed.err.startswith("penstock: ") and printed.err.count("\n") == 1
    assert said in printed.err and printed.err.endswith(f"; see {where} --help\n")


def test_a_value_that_is_none_of_those_allowed_is_answered_with_those() -> None:
    said = mistake("fit", "latency", "runs.csv", "--leave-out", "all")
    assert "'--leave-out'" in said and "'one'" in said and "'interval'" in said


@pytest.mark.parametrize("arguments", [[], ["fit"], ["fit", "scaleout", "--help"]])
def test_help_is_still_help(arguments: list[str]) -> None:
    done = CliRunner().invoke(app, arguments)
    assert "Usage:" in done.output and "--help" in done.output
