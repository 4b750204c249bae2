"""Promises that no size can keep, whatever the load: they are refused before anything starts."""

from __future__ import annotations

from penstock.core.domain.job import JobSpec
from penstock.runtime.jobfile.mistakes import Mistakes


def check_targets(spec: JobSpec, mistakes: Mistakes) -> None:
    """A job is not back before its downtime is over, and a row waits for its trigger."""
    recovery_s, latency_s, downtime_s = spec.promises.recovery_s, spec.promises.latency_p95_s, spec.autopilot.downtime_s
    if recovery_s is not None and downtime_s is not None and recovery_s <= downtime_s:
        mistakes.found(("promises", "recovery"), f"no size can keep it: more than autopilot.downtime ({mistakes.shown(('autopilot', 'downtime'))})")
    for query in spec.queries:
        if latency_s is not None and query.trigger.kind == "processing_time" and latency_s < query.trigger.interval_s:
            trigger = ("queries", query.name, "trigger")
            mistakes.found(("promises", "latency_p95"), f"no size can keep it: at least {mistakes.where(trigger)} ({mistakes.shown(trigger)})")
