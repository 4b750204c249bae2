"""Runs the cells of an experiment: stored as they finish, resumed after an interruption, in parallel where they are simulated."""

import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from penstock.core.errors import PenstockError
from penstock.stores.codec import DecodeError, decode, encode

Report = TypeVar("Report")
Report_co = TypeVar("Report_co", covariant=True)
Share = Callable[[float], None]
"""Called with the share of one cell that is done."""
Progress = Callable[[float, int], None]
"""Called with the number of cells that are done, parts of the one under way included, and of those that had to be run."""


class Runnable(Protocol[Report_co]):
    """A cell as the runner sees it: its report depends on nothing but what the key is a digest of. Cells that need no cores of their own run in parallel."""

    @property
    def key(self) -> str: ...

    @property
    def in_parallel(self) -> bool: ...

    def run(self, progress: Share) -> Report_co: ...


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a cell has no report, in one line."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Results(Generic[Report]):
    """The reports of the cells by name, and in one line each why others failed; `reused` cells had been stored."""

    reports: Mapping[str, Report]
    failed: Mapping[str, str]
    reused: int

    def complete(self) -> Mapping[str, Report]:
        """Return the reports; raise if a cell failed."""
        for name, why in self.failed.items():
            raise RuntimeError(f"{name}: {why}")
        return self.reports


class CellStore(Generic[Report]):
    """Reports by the keys of their cells in a file of JSON lines; a line that an interruption cut off is ignored."""

    def __init__(self, path: Path, kind: type[Report]) -> None:
        self._path = path
        self._kind = kind

    def known(self) -> dict[str, Report]:
        found: dict[str, Report] = {}
        for line in self._path.read_text().splitlines() if self._path.exists() else ():
            try:
                row = json.loads(line)
                found[row["key"]] = decode(self._kind, json.dumps(row["report"]))
            except (ValueError, KeyError, TypeError, DecodeError):
                continue
        return found

    def add(self, name: str, key: str, report: Report) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path, "a") as file:
            # The line break comes first: it ends a line that was cut off.
            file.write("\n" + json.dumps({"name": name, "key": key, "report": json.loads(encode(report))}))
            file.flush()
            os.fsync(file.fileno())


def run_cells(
    cells: Mapping[str, Runnable[Report]], kind: type[Report], store: Path | None = None, *, processes: int | None = None,
    progress: Progress = lambda done, total: None,
) -> Results[Report]:  # fmt: skip
    """Run the cells that are not stored yet, and return the reports of all, which are of one kind; Ctrl-C loses the cells under way.

    Equal cells are run once. A cell that fails does not end the others, and is run again the next time.
    `processes` is how many cells run in parallel (None: one a core).
    """
    keys = {name: cell.key for name, cell in cells.items()}
    known = CellStore(store, kind).known() if store else {}
    found = {key: known[key] for key in keys.values() if key in known}
    reused, failures = len(found), dict[str, str]()
    first = {key: name for name, key in reversed(keys.items())}
    left = {name: cell for name, cell in cells.items() if keys[name] not in found and first[keys[name]] == name}
    progress(0, len(left))
    for number, (name, result) in enumerate(ended(left, processes or os.cpu_count() or 1, progress), start=1):
        if isinstance(result, Failed):
            failures[keys[name]] = result.why
        else:
            found[keys[name]] = result
            if store:
                CellStore(store, kind).add(name, keys[name], result)
        progress(number, len(left))
    reports = {name: found[key] for name, key in keys.items() if key in found}
    return Results(reports=reports, failed={name: failures[key] for name, key in keys.items() if key in failures}, reused=reused)


def ended(cells: Mapping[str, Runnable[Report]], processes: int, progress: Progress) -> Iterator[tuple[str, Report | Failed]]:
    """Yield cells as they end: those in parallel in as many processes, then the others one after another."""
    parallel = {name: cell for name, cell in cells.items() if cell.in_parallel}
    together = min(processes, len(parallel)) > 1
    if together:
        yield from in_processes(parallel, processes)
    alone = {name: cell for name, cell in cells.items() if not (together and cell.in_parallel)}
    for before, (name, cell) in enumerate(alone.items(), start=len(cells) - len(alone)):
        yield name, tried(cell, partial(part_done, progress, before, len(cells)))


def part_done(progress: Progress, before: int, total: int, share: float) -> None:
    progress(before + share, total)


def tried(cell: Runnable[Report], progress: Share) -> Report | Failed:
    try:
        return cell.run(progress)
    except Exception as error:
        return Failed(" ".join((str(error) if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}").split()))


def in_processes(cells: Mapping[str, Runnable[Report]], processes: int) -> Iterator[tuple[str, Report | Failed]]:
    """Run each cell in a process of its own, several at a time; a process that dies is a cell that failed. Those under way end with this generator."""
    context = serving_forks()
    waiting, running = list(cells.items()), dict[Connection, tuple[str, ForkServerProcess]]()
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                (name, cell), (ours, theirs) = waiting.pop(0), context.Pipe(duplex=False)
                process = context.Process(target=work, args=(theirs, cell), daemon=True)
                process.start()
                theirs.close()
                running[ours] = (name, process)
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                name, process = running.pop(ready)
                try:
                    result: Any = ready.recv()
                except EOFError:
                    result = None
                ready.close()
                process.join()
                yield name, Failed(f"its process ended with code {process.exitcode}") if result is None else result
    finally:
        for _, process in running.values():
            process.terminate()
            process.join()


def serving_forks() -> ForkServerContext:
    """Start the server that forks the processes, with Ctrl-C blocked in it and in them: the parent handles it."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "penstock.wiring.simulation"])
    resource_tracker.ensure_running()  # it unblocks Ctrl-C when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return context


def work(result: Connection, cell: Runnable[Any]) -> None:
    """Run a cell in a child process, on one thread."""
    from threadpoolctl import threadpool_limits

    threading.Thread(target=end_with_parent, daemon=True).start()
    with threadpool_limits(1):
        result.send(tried(cell, lambda share: None))


def end_with_parent() -> None:
    """End this process with the one that asked for it; the server that forked it lives on as long as this one does."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
