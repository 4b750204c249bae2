"""The options of `penstock simulate`, as `--help` tells them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

from typer import Option

from penstock.cli.engine_options import ENGINES
from penstock.core.domain.autopilot import Guards

Number = float | None

Trace = Annotated[Path | None, Option(help="CSV with the columns t (s), rate (rows/s).", metavar="TRACE.CSV")]
Recorded = Annotated[str | None, Option("--like", help="An engine like that of a recorded job; its own arrivals without --trace.", metavar="HISTORY.DB|JOB")]
Last = Annotated[str | None, Option(help="With --like: only the last so long of the history (24h).", metavar="DURATION")]
Graph = Annotated[Path | None, Option(help="Several queries that share the workers (docs/simulator.md).", metavar="GRAPH.TOML")]
Name = Annotated[str, Option(help="A policy by its name, or all of them side by side.", metavar="NAME|all")]
Kind = Annotated[str | None, Option(help="How the job works (continuous, or as the recorded job does).", metavar="|".join(ENGINES))]
Capacity = Annotated[Number, Option(help="Rows per second that one worker can process (5000).")]
Most = Annotated[int | None, Option(help="The most workers (12, or those of the recorded job).")]
Fewest = Annotated[int | None, Option(help="The fewest workers (1, or those of the recorded job).")]
First = Annotated[int | None, Option(help="Workers at the start; the most unless told.")]
Downtime = Annotated[Number, Option(help="Seconds down after a failure or rescale (30); micro-batches: until a worker is ready (5).")]
DowntimeIn = Annotated[Number, Option(help="The same where workers are taken away, if that differs.")]
Interval = Annotated[Number, Option(help="Continuous: seconds between two checkpoints (10).")]
Recovery = Annotated[Number, Option(help="Seconds within which the job is to recover.")]
Failures = Annotated[str, Option(help="When a worker fails, in the time of the trace.", metavar="T,T,...")]
Unnoticed = Annotated[Number, Option(help="Failures are noticed only after so many seconds.", metavar="S")]
Profile = Annotated[Path | None, Option(help="CSV with the columns scaleout, rate, latency_ms (valid).", metavar="PROFILE.CSV")]
Latency = Annotated[Number, Option(help="The latency that is promised.")]
Parameters = Annotated[list[str] | None, Option(help="A parameter of the policy; again for another.", metavar="NAME=NUMBER")]
Shared = Annotated[str, Option(help="The guards that all policies share.", metavar="|".join(get_args(Guards)))]
Noise = Annotated[Number, Option(help="Spread of CPU (0.02); micro-batches: of the time a batch takes (0).")]
Skew = Annotated[Number, Option(help="Coefficient of variation of workers' shares (0); micro-batches: longest task over the mean (1).")]
TriggerEvery = Annotated[Number, Option(help="Micro-batches: seconds between two starts (5).")]
Overhead = Annotated[Number, Option(help="Micro-batches: seconds of a batch without rows (0.5).")]
RowCost = Annotated[Number, Option(help="Micro-batches: microseconds of a row on one core, in place of --capacity-per-worker.")]
Partitions = Annotated[int | None, Option(help="Micro-batches: tasks of a batch (24).")]
Cores = Annotated[int | None, Option(help="Micro-batches: cores of a worker (1).")]
RateLimit = Annotated[Number, Option(help="The most rows per second that the job takes.")]
Seed = Annotated[int, Option(help="Another seed is another run of chance.")]
