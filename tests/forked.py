"""`penstock` in a process of its own that need not import it first: one that has is forked for each."""

import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from waiting import wait_until

from penstock.cli import main

IMPORTED = [
    "pytest", "pandas", "forked", "penstock.cli.app", "penstock.cli.run", "penstock.wiring.running_job", "penstock.dashboard.picture",
    "penstock.stores.export",
]  # fmt: skip
PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    code: int
    out: str
    err: str


def penstock(folder: Path, environment: Mapping[str, str], *arguments: str) -> Ended:
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload(IMPORTED)
    out, err, ended = folder / "stdout", folder / "stderr", folder / "ended"
    ended.unlink(missing_ok=True)
    process = forking.Process(target=_become, args=(folder, dict(environment), arguments, (out, err), ended))
    process.start()
    process.join(PATIENCE_S)
    if process.exitcode is None:
        process.kill()
        process.join()
    wait_until(ended.exists, 10, f"an end of {arguments} in order: {err.read_text()}")
    return Ended(code=int(ended.read_text()), out=out.read_text(), err=err.read_text())


def _become(folder: Path, environment: Mapping[str, str], arguments: Sequence[str], streams: Sequence[Path], ended: Path) -> None:
    """The command; it writes down how it ended, as the process that forks may lose count of exit codes."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in enumerate(streams, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    sys.argv = ["penstock", *arguments]
    code: object = 0
    try:
        main()
    except SystemExit as exit_:
        code = exit_.code or 0
    sys.stdout.flush()
    sys.stderr.flush()
    ended.write_text(str(code))
