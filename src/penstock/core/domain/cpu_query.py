"""Where the CPU of executors can be asked, if the owner of a job knows a place."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuQuery:
    """A Prometheus query that tells the CPU cores each executor uses; `label` of its answer names the executor."""

    url: str = field(repr=False)
    query: str
    label: str = "executor_id"
