"""Notice executors that were asked for and are not there."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.config import Config
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executors import ExecutorsComplete, ExecutorsMissing
from penstock.core.knowledge import Knowledge


def watch_executors(knowledge: Knowledge, at_s: float, config: Config) -> tuple[Knowledge, list[Event]]:
    """Report executors missing once they have been for longer than the time-out, and once more when all are there."""
    if knowledge.last is None or "executors" in knowledge.last.unable or knowledge.is_rescaling:
        return knowledge, []
    running, wanted = knowledge.last.executors_running, knowledge.desired.executors
    since_s, reported = knowledge.missing_since_s, knowledge.missing_reported
    if running >= wanted:
        if since_s is None and not reported:
            return knowledge, []
        back: list[Event] = [ExecutorsComplete(at_s=at_s, running=running)] if reported else []
        return replace(knowledge, missing_since_s=None, missing_reported=False), back
    if since_s is None:
        since_s = at_s
        knowledge = replace(knowledge, missing_since_s=since_s)
    if reported or at_s - since_s < config.executors_timeout_s:
        return knowledge, []
    return replace(knowledge, missing_reported=True), [ExecutorsMissing(at_s=at_s, requested=wanted, running=running, waited_s=at_s - since_s)]
