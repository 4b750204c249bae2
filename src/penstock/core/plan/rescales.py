"""The last rescale, whoever wanted it: timers run from it, and its outcome is known by its number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.core.domain.instruction import Instruction, Outcome, ScaleExecutors
from penstock.core.domain.reading import Reading
from penstock.core.knowledge import Knowledge
from penstock.core.steering import Rescale


def with_rescale(knowledge: Knowledge, instructions: Sequence[Instruction], at_s: float) -> Knowledge:
    """Knowledge of a rescale that was just asked for. In shadow the policy's own timer does not run from what others do.

    What happens before the first batch is the start of the job, in which a standalone cluster gives more than was asked for: no rescale.
    """
    steering, reading = knowledge.steering, knowledge.last
    given = next((each for each in instructions if isinstance(each, ScaleExecutors)), None)
    if given is None or reading is None or not has_committed(reading) or steering.mode == "observe":
        return knowledge
    before = max(reading.executors_requested, reading.executors_running)
    rescale = Rescale(number=given.number, before=before, after=given.executors, at_s=at_s)
    rescaled_s = steering.rescaled_s if steering.mode == "shadow" else at_s
    return replace(knowledge, steering=replace(steering, rescale=rescale, rescaled_s=rescaled_s))


def has_committed(reading: Reading) -> bool:
    """Whether any query has committed a batch: of one that has nothing to read the throughput, and with it the job's, may never be known."""
    return reading.throughput_rows_per_s is not None or any(query.throughput_rows_per_s is not None for query in reading.queries)


def without_failed(knowledge: Knowledge, outcomes: Sequence[Outcome]) -> Knowledge:
    """Knowledge without a rescale that came to nothing: executors that are still there were not given away. Its timer runs, so that it is not tried at once."""
    rescale, steering = knowledge.steering.rescale, knowledge.steering
    if rescale is None or not any(each.number == rescale.number and not each.done for each in outcomes):
        return knowledge
    own_s = None if rescale.after < rescale.before else steering.own_scale_down_s
    return replace(knowledge, steering=replace(steering, rescale=None, own_scale_down_s=own_s))
