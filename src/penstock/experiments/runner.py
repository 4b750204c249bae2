"""Runs the cells of an experiment: stored as they finish, resumed after an interruption, in parallel where they are simulated."""

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from penstock.core.errors import PenstockError
from penstock.core.report.run_report import RunReport
from penstock.experiments.cell import Cell, SimulatedJob
from penstock.processes import die_with_parent
from penstock.stores.codec import DecodeError, decode, encode

Progress = Callable[[int, int], None]
"""Called with the number of cells that are done, and of those that had to be run."""
Ended = tuple[str, RunReport | str]
"""The name of a cell with its report, or with why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The reports of the cells by name, and in one line each why others failed; `reused` cells had been stored."""

    reports: Mapping[str, RunReport]
    failed: Mapping[str, str]
    reused: int


class CellStore:
    """Reports by the keys of their cells in a file of JSON lines; a line that an interruption cut off is ignored."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def known(self) -> dict[str, RunReport]:
        found: dict[str, RunReport] = {}
        for line in self._path.read_text().splitlines() if self._path.exists() else ():
            try:
                row = json.loads(line)
                found[row["key"]] = decode(RunReport, json.dumps(row["report"]))
            except (ValueError, KeyError, TypeError, DecodeError):
                continue
        return found

    def add(self, name: str, key: str, report: RunReport) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path, "a") as file:
            # The line break comes first: it ends a line that was cut off.
            file.write("\n" + json.dumps({"name": name, "key": key, "report": json.loads(encode(report))}))
            file.flush()
            os.fsync(file.fileno())


def run_cells(cells: Mapping[str, Cell], store: Path | None = None, *, processes: int | None = None, progress: Progress = lambda done, total: None) -> Results:
    """Run the cells that are not stored yet, and return the reports of all; Ctrl-C loses the cells under way.

    Equal cells are run once. A cell that fails does not end the others, and is run again the next time.
    `processes` is how many simulated cells run at once (None: one a core).
    """
    keys = {name: cell.key for name, cell in cells.items()}
    known = CellStore(store).known() if store else {}
    found = {key: known[key] for key in keys.values() if key in known}
    reused, failures = len(found), dict[str, str]()
    first = {key: name for name, key in reversed(keys.items())}
    left = {name: cell for name, cell in cells.items() if keys[name] not in found and first[keys[name]] == name}
    progress(0, len(left))
    for number, (name, result) in enumerate(ended(left, processes or os.cpu_count() or 1), start=1):
        if isinstance(result, str):
            failures[keys[name]] = result
        else:
            found[keys[name]] = result
            if store:
                CellStore(store).add(name, keys[name], result)
        progress(number, len(left))
    reports = {name: found[key] for name, key in keys.items() if key in found}
    return Results(reports=reports, failed={name: failures[key] for name, key in keys.items() if key in failures}, reused=reused)


def ended(cells: Mapping[str, Cell], processes: int) -> Iterator[Ended]:
    """Yield cells as they end: simulated ones in as many processes, then those on Spark one after another."""
    simulated = {name: cell for name, cell in cells.items() if isinstance(cell.plant, SimulatedJob)}
    if min(processes, len(simulated)) > 1:
        yield from in_parallel(simulated, processes)
    else:
        yield from (tried(name, cell) for name, cell in simulated.items())
    yield from (tried(name, cell) for name, cell in cells.items() if name not in simulated)


def tried(name: str, cell: Cell) -> Ended:
    try:
        return name, cell.run()
    except Exception as error:
        return name, " ".join((str(error) if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}").split())


def in_parallel(cells: Mapping[str, Cell], processes: int) -> Iterator[Ended]:
    """Run each cell in a process of its own, several at a time; a process that dies is a cell that failed. Those under way end with this generator."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "penstock.wiring.simulation"])
    waiting, running = list(cells.items()), dict[Connection, tuple[str, ForkServerProcess]]()
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                (name, cell), (ours, theirs) = waiting.pop(0), context.Pipe(duplex=False)
                process = context.Process(target=work, args=(theirs, name, cell), daemon=True)
                process.start()
                theirs.close()
                running[ours] = (name, process)
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                name, process = running.pop(ready)
                try:
                    result: RunReport | str | None = ready.recv()[1]
                except EOFError:
                    result = None
                ready.close()
                process.join()
                yield name, f"its process ended with code {process.exitcode}" if result is None else result
    finally:
        for _, process in running.values():
            process.terminate()
            process.join()


def work(result: Connection, name: str, cell: Cell) -> None:
    """Run a cell in a child process, on one thread; Ctrl-C is the parent's business."""
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()
    with threadpool_limits(1):
        result.send(tried(name, cell))
