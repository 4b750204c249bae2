"""Instructions of the controller to an actuator, and their outcomes."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.core.domain.configuration import Change

MISSING = "missing"
"""The reason of an outcome whose executors have not come: they still may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """A change to be applied: live where the plant can, the rest in one stop and start. `decision` is the one that wants it, None for an operator or the owner.

    >>> from penstock.core.domain.configuration import Move
    >>> Instruction(number=7, change=Change(moves=(Move(knob="partitions", query="counts", before=4, after=8),))).targets
    ('query:counts',)
    """

    number: int
    decision: int | None = None
    change: Change

    @property
    def targets(self) -> tuple[str, ...]:
        """What it works on: at most one instruction for a target is under way at any time."""
        of_job = (move.knob for move in self.change.moves if not move.query)
        return (*of_job, *(f"query:{name}" for name in self.change.queries))

    @property
    def target(self) -> str:
        return ", ".join(self.targets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an instruction ended: its duration, its downtime (None: the job kept running), and the rows that it delayed (None: unknown).

    Of one that is not done, `failed` names the knobs that were not set; empty if none was.
    """

    number: int
    done: bool
    took_s: float
    down_s: float | None = None
    delayed_rows: float | None = None
    reason: str = ""
    failed: tuple[str, ...] = ()


def joined(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcome of several parts. Missing executors are its reason, and count as failed, only if nothing else failed."""
    undone = [each for each in outcomes if not each.done]
    undone = [each for each in undone if each.reason != MISSING] or undone
    downs, delays = [each.down_s for each in outcomes if each.down_s is not None], [each.delayed_rows for each in outcomes]
    return Outcome(
        number=outcomes[0].number,
        done=not undone,
        took_s=max(each.took_s for each in outcomes),
        down_s=max(downs, default=None),
        delayed_rows=None if all(rows is None for rows in delays) else sum(rows for rows in delays if rows is not None),
        reason=undone[0].reason if undone else "; ".join(each.reason for each in outcomes if each.reason),
        failed=tuple(address for each in undone for address in each.failed),
    )
