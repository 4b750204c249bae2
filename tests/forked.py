"""`penstock` in a process of its own that need not import it first: one that has is forked for each."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.cli import main

IMPORTED = ["pytest", "pandas", "forked", "penstock.cli.app", "penstock.cli.run", "penstock.wiring.job", "penstock.dashboard.picture", "penstock.stores.export"]
PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How it ended, and what it printed."""

    code: int
    out: str
    err: str


def penstock(folder: Path, environment: Mapping[str, str], *arguments: str) -> Ended:
    """Run a command in a folder and wait for its end."""
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload(IMPORTED)
    out, err = folder / "stdout", folder / "stderr"
    process = forking.Process(target=_become, args=(folder, dict(environment), arguments, (out, err)))
    process.start()
    process.join(PATIENCE_S)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise AssertionError(f"{arguments} did not end within {PATIENCE_S} s: {err.read_text()}")
    return Ended(code=process.exitcode, out=out.read_text(), err=err.read_text())


def _become(folder: Path, environment: Mapping[str, str], arguments: Sequence[str], streams: Sequence[Path]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in enumerate(streams, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    sys.argv = ["penstock", *arguments]
    main()
