"""A decision and what it was made from: candidates, reason codes, and the two numbers that each was compared by."""

import math
from dataclasses import dataclass, replace
from typing import Literal, Self

from penstock.core.domain.configuration import Change, Configuration, difference
from penstock.core.domain.policy_memory import PolicyMemory
from penstock.core.domain.prediction import Prediction
from penstock.core.domain.reasons import ENDLESS, REASONS

Direction = Literal["up", "down", "keep", "change"]
"""Of the executors; "change" moves other knobs alone."""
Effect = Literal["kept", "shadow", "proposed", "approved", "asked", "held", "guarded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Why: a reason code and the two numbers that were compared; None where there is none.

    A policy may bring a code of its own, with the words for it in `says`.

    >>> Comparison(code="capacity_below_load", value=900.0, limit=1200.0).words()
    'it carries 900 rows/s, 1,200 arrive'
    >>> Comparison(code="too_cold", value=3.0, limit=10.0, says="{value} degrees, {limit} are needed").words()
    '3 degrees, 10 are needed'
    >>> Comparison(code="too_cold", value=3.0, limit=10.0).words()
    'too cold (3, 10)'
    """

    code: str
    value: float | None = None
    limit: float | None = None
    says: str = ""

    def words(self) -> str:
        endless = ENDLESS.get(self.code) if self.value == math.inf else None
        words = self.says or endless or REASONS.get(self.code)
        if words is None:
            numbers = [short(each) for each in (self.value, self.limit) if each is not None]
            return self.code.replace("_", " ") + (f" ({', '.join(numbers)})" if numbers else "")
        return words.replace("{value}", short(self.value)).replace("{limit}", short(self.limit))


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A configuration that was weighed, as far as it differs from the present one; `refused` is None for the one that passed.

    `predictions` are those of the model that judged it, on the candidate that was chosen: they are what is graded.
    """

    configuration: Configuration
    refused: Comparison | None = None
    capacity_rows_per_s: float | None = None
    recovery_s: float | None = None
    latency_s: float | None = None
    predictions: tuple[Prediction, ...] = ()

    @property
    def executors(self) -> int:
        return self.configuration.executors


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a policy wants: a whole configuration. `memory` comes back to it at its next decision; `next_after_s` takes the place of its period once.

    A policy that `weighs_changes` has counted what going there and coming back costs: the shared guards do not delay its scale-downs.

    >>> now = Configuration(executors=4)
    >>> Decision(policy="static", configuration=Configuration(executors=2), current=now, why=Comparison(code="as_declared")).direction
    'down'
    """

    policy: str
    configuration: Configuration
    current: Configuration
    why: Comparison
    candidates: tuple[Candidate, ...] = ()
    guards: tuple[Comparison, ...] = ()
    memory: PolicyMemory | None = None
    next_after_s: float | None = None
    weighs_changes: bool = False

    @property
    def executors(self) -> int:
        return self.configuration.executors

    @property
    def change(self) -> Change:
        return difference(self.current, self.configuration)

    @property
    def direction(self) -> Direction:
        if self.executors != self.current.executors:
            return "up" if self.executors > self.current.executors else "down"
        return "keep" if self.configuration is self.current or not self.change else "change"

    @property
    def is_weighed(self) -> bool:
        """Whether what was chosen is among the candidates."""
        return any(self.wants(each.configuration) for each in self.candidates)

    def chosen(self, predictions: tuple[Prediction, ...]) -> Self:
        """Return the decision with these predictions on the candidate that it chose."""
        found = [replace(each, predictions=predictions) if self.wants(each.configuration) else each for each in self.candidates]
        return replace(self, candidates=tuple(found))

    def wants(self, configuration: Configuration) -> bool:
        """Return whether this is the configuration it chose; one that names only what differs from the present one counts as the whole."""
        return configuration.executors == self.executors and configuration.over(self.current) == self.configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommended:
    """What a policy recommended earlier, before guards."""

    at_s: float
    configuration: Configuration

    @property
    def executors(self) -> int:
        return self.configuration.executors


def asked_policy(policy: str) -> str:
    """Return the policy that was asked, from the whole name of the one that decided.

    >>> asked_policy("auto:daedalus"), asked_policy("auto"), asked_policy("hpa")
    ('auto', 'auto', 'hpa')
    """
    return policy.partition(":")[0]


def short(number: float | None) -> str:
    """Return a number as people read it in a reason.

    >>> short(1234.5), short(0.8731), short(math.inf), short(None)
    ('1,234', '0.873', '∞', '?')
    """
    if number is None or math.isinf(number):
        return "?" if number is None else "∞"
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def executors_words(executors: int) -> str:
    """
    >>> executors_words(1), executors_words(4)
    ('1 executor', '4 executors')
    """
    return f"{executors} executor{'' if executors == 1 else 's'}"
