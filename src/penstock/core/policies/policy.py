"""What every policy is."""

from __future__ import annotations

from typing import Literal, Protocol

from penstock.core.assessment import Assessment
from penstock.core.domain.decision import Decision

Need = Literal["load", "capacity", "regression", "forecast", "latency", "profile", "stages"]
"""What is learnt for a policy; "regression" asks for Daedalus's own sum of regressions in the place of the capacity model that earned it."""


class Policy(Protocol):
    """Decides every `period_s`, from what it `needs`; one that is `faithful` to a paper has the shared guards off unless its owner turns them on."""

    @property
    def name(self) -> str: ...

    @property
    def period_s(self) -> float: ...

    @property
    def needs(self) -> frozenset[Need]: ...

    @property
    def faithful(self) -> bool: ...

    def decide(self, seen: Assessment) -> Decision: ...
