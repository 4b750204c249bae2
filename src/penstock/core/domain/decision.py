"""A decision and what it was made from: candidates, reason codes, and the two numbers that each was compared by."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from penstock.core.domain.reasons import REASONS

Direction = Literal["up", "down", "keep"]
Effect = Literal["kept", "shadow", "proposed", "approved", "asked", "held", "guarded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Why: a reason code and the two numbers that were compared; None where there is none.

    >>> Comparison(code="capacity_below_load", value=900.0, limit=1200.0).words()
    'it carries 900 rows/s, 1,200 arrive'
    """

    code: str
    value: float | None = None
    limit: float | None = None

    def words(self) -> str:
        return REASONS[self.code].format(value=short(self.value), limit=short(self.limit))


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One size that was weighed; `refused` is None for the one that passed."""

    executors: int
    refused: Comparison | None = None
    capacity_rows_per_s: float | None = None
    recovery_s: float | None = None
    latency_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a policy wants. `memo` comes back to it at its next decision; `next_after_s` takes the place of its period once.

    >>> Decision(policy="static", executors=2, current=4, why=Comparison(code="as_declared")).direction
    'down'
    """

    policy: str
    executors: int
    current: int
    why: Comparison
    candidates: tuple[Candidate, ...] = ()
    guards: tuple[Comparison, ...] = ()
    memo: Mapping[str, float] = field(default_factory=dict)
    next_after_s: float | None = None

    @property
    def direction(self) -> Direction:
        return "up" if self.executors > self.current else "down" if self.executors < self.current else "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommended:
    """What a policy recommended earlier, before guards."""

    at_s: float
    executors: int


def asked_policy(policy: str) -> str:
    """The policy that was asked, of the whole name of the one that decided.

    >>> asked_policy("auto:daedalus"), asked_policy("auto"), asked_policy("hpa")
    ('auto', 'auto', 'hpa')
    """
    return policy.partition(":")[0]


def short(number: float | None) -> str:
    """A number as people read it in a reason.

    >>> short(1234.5), short(0.8731), short(math.inf), short(None)
    ('1,234', '0.873', '∞', '?')
    """
    if number is None or math.isinf(number):
        return "?" if number is None else "∞"
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def sized(executors: int) -> str:
    """
    >>> sized(1), sized(4)
    ('1 executor', '4 executors')
    """
    return f"{executors} executor{'' if executors == 1 else 's'}"
