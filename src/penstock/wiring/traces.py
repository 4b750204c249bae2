"""The trace sources of a job, whose state is kept beside the checkpoint."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from penstock.core.domain.job import JobSpec
from penstock.core.errors import UserMistake
from penstock.spark.checkpoint import CheckpointFolder
from penstock.spark.contract import Trace, prepare_trace
from penstock.trace.state import TraceState

STATE = "trace-{}.json"
# The source's process may be emitting rows of this moment: a new rate begins a little later.
OVERRIDE_LEAD_S = 1.0


def open_traces(spec: JobSpec, beside: CheckpointFolder, folder: Path) -> dict[str, Trace]:
    """Return the job's traces, begun now if they are new. If the checkpoint is remote, the local state file is a copy of the one beside it."""
    traces = {}
    for source in spec.sources:
        if source.format != "trace":
            continue
        path = fetched(STATE.format(source.name), beside, folder)
        trace = prepare_trace(source, spec.folder, path)
        trace.state.begin(time.time())
        sent_back(path, beside)
        traces[source.name] = trace
    return traces


def fetched(name: str, beside: CheckpointFolder, folder: Path) -> Path:
    """Return the local path of a state file: beside the checkpoint, or in `folder` as a copy of the remote one."""
    here = beside.local_path(name)
    if here is not None:
        return here
    copy = folder / name
    copy.unlink(missing_ok=True)
    kept = beside.read(name)
    if kept is not None:
        copy.write_bytes(kept)
    return copy


def sent_back(path: Path, beside: CheckpointFolder) -> None:
    """Copy the state file beside the checkpoint, unless it already is that file."""
    if beside.local_path(path.name) is None:
        beside.write(path.name, path.read_bytes())


def rate_setter(traces: Mapping[str, Trace], feeds: Mapping[str, TraceState], beside: CheckpointFolder) -> Callable[[str | None, float | None], str]:
    """Return a function that overrides the rate of a trace source or a feeder from now on, also in the state beside the checkpoint."""
    states = {name: trace.state for name, trace in traces.items()} | dict(feeds)

    def set_rate(source: str | None, rows_per_s: float | None) -> str:
        if source is None and len(states) == 1:
            source = next(iter(states))
        if source is None or source not in states:
            raise UserMistake(f"found source {source!r}, one of {', '.join(states)} is needed")
        states[source].override(time.time() + OVERRIDE_LEAD_S, rows_per_s)
        if source in traces:
            sent_back(states[source].path, beside)
        return source

    return set_rate
