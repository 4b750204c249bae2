"""A turn as it is remembered: all that it takes to turn it again."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.inputs import Inputs
from penstock.core.knowledge import Knowledge
from penstock.core.loop import Turn
from penstock.core.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyframe:
    """What was known before a turn, and its terms: from there on a replay needs nothing but what came in."""

    knowledge: Knowledge
    terms: Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a turn began with, what came in, and what came of it."""

    before: Keyframe
    inputs: Inputs
    done: Turn

    def follows(self, earlier: Recorded | None) -> bool:
        """Whether nothing happened in between: the turn began with what the earlier one left, under the same terms."""
        return earlier is not None and self.before.knowledge is earlier.done.knowledge and self.before.terms is earlier.before.terms
