"""Give up a wish that could not be carried out: desire what is."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.domain.instruction import ChangeQuery, ScaleExecutors
from penstock.core.domain.reading import Reading
from penstock.core.knowledge import Desired, Knowledge, still_held


def as_it_is(knowledge: Knowledge, failed: ScaleExecutors | ChangeQuery) -> Knowledge:
    """Knowledge that desires what the last reading saw where it desired what failed; holds of such values end too. A newer wish stays."""
    seen, desired, stuck = knowledge.last, knowledge.desired, knowledge.stuck_executors
    if seen is None:
        return knowledge
    if isinstance(failed, ChangeQuery):
        desired = query_as_seen(desired, failed, seen)
    elif failed.executors == desired.executors:
        desired, stuck = replace(desired, executors=seen.executors_requested), seen.executors_running
    return replace(knowledge, desired=desired, holds=still_held(desired, knowledge), stuck_executors=stuck)


def query_as_seen(desired: Desired, failed: ChangeQuery, reading: Reading) -> Desired:
    name = failed.query
    seen = next((query for query in reading.queries if query.name == name), None)
    if seen is None:
        return desired
    trigger, limit, partitions = desired.triggers.get(name), desired.rate_limits_rows_per_s.get(name), desired.partitions.get(name)
    return replace(
        desired,
        triggers={**desired.triggers, name: seen.trigger} if trigger == failed.trigger else desired.triggers,
        rate_limits_rows_per_s={**desired.rate_limits_rows_per_s, name: seen.rate_limit_rows_per_s if limit == failed.rate_limit_rows_per_s else limit},
        partitions={**desired.partitions, name: None if partitions == failed.partitions else partitions},
    )
