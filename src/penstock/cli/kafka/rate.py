"""`penstock kafka rate`: another rate for a feeder that runs."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from penstock.core.domain.units import parse_rate_rows_per_s
from penstock.core.errors import UserMistake
from penstock.trace.state import TraceState, recipe_of


def rate(
    rows: Annotated[str, typer.Argument(help='The new rate: "500/s", or "trace" to follow the trace again.')],
    state: Annotated[Path, typer.Option("--state", help="The folder given to the feeder.")],
) -> None:
    """Change the rate of a feeder that runs."""
    try:
        options = json.loads((state / "options.json").read_text())
    except (OSError, ValueError):
        raise UserMistake(f"--state: no feeder has remembered anything in {state}") from None
    trace = TraceState(state / "trace.json", recipe_of(options))
    trace.override(time.time() + 0.5, None if rows == "trace" else parse_rate_rows_per_s(rows))
    typer.echo(f"from now on {rows}")
