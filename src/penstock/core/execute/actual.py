"""Give up a wish that could not be carried out: desire what is."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.domain.instruction import ChangeQuery, ScaleExecutors
from penstock.core.knowledge import Knowledge


def as_it_is(knowledge: Knowledge, failed: ScaleExecutors | ChangeQuery) -> Knowledge:
    """Knowledge that desires, for the failed instruction's knob, what the last reading saw; the hold on it ends too."""
    if knowledge.last is None:
        return knowledge
    desired = knowledge.desired
    if isinstance(failed, ScaleExecutors):
        desired = replace(desired, executors=knowledge.last.executors_requested)
        lost = {"executors"}
    else:
        seen = next((query for query in knowledge.last.queries if query.name == failed.query), None)
        if seen is None:
            return knowledge
        desired = replace(
            desired,
            triggers={**desired.triggers, failed.query: seen.trigger},
            rate_limits_rows_per_s={**desired.rate_limits_rows_per_s, failed.query: seen.rate_limit_rows_per_s},
            partitions={**desired.partitions, failed.query: None},
        )
        lost = {f"{knob}:{failed.query}" for knob in ("trigger", "rate-limit", "partitions")}
    return replace(knowledge, desired=desired, holds=tuple(hold for hold in knowledge.holds if hold.knob not in lost))
