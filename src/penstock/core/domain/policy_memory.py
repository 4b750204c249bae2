"""What a policy remembers from one decision to the next: a value of its own for each that remembers anything."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The number of executors that a policy wanted at a moment, before its own window of stabilisation."""

    at_s: float
    executors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HpaMemory:
    """`row_s` is the task time of one row in s, by query: it gives the load of a batch whose commit is overdue."""

    kind: Literal["hpa"] = "hpa"
    wanted: tuple[Wanted, ...] = ()
    row_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ds2Memory:
    kind: Literal["ds2"] = "ds2"
    wanted: tuple[Wanted, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DraMemory:
    """Since when each executor is idle, and how many tasks each query has at once."""

    kind: Literal["spark_dra"] = "spark_dra"
    idle_since_s: Mapping[str, float] = field(default_factory=dict)
    tasks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerDraMemory:
    """When executors were last removed."""

    kind: Literal["trigger_dra"] = "trigger_dra"
    removed_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticMemory:
    """A weighted sum of occupations and the sum of its weights, both from 1 on, and the commit of the newest batch in it."""

    kind: Literal["elastic"] = "elastic"
    occupations: float = 1.0
    weights: float = 1.0
    newest_s: float | None = None

    @property
    def occupation(self) -> float:
        return self.occupations / self.weights

    def with_batch(self, at_s: float, occupation: float, factor: float) -> "ElasticMemory":
        """
        >>> round(ElasticMemory().with_batch(5.0, 2.0, 0.6).occupation, 3)
        1.625
        """
        return ElasticMemory(occupations=self.occupations * factor + occupation, weights=self.weights * factor + 1.0, newest_s=at_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoMemory:
    """The memories of the policies that `auto` lets decide."""

    kind: Literal["auto"] = "auto"
    hpa: HpaMemory = HpaMemory()
    ds2: Ds2Memory = Ds2Memory()


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnMemory:
    """The memory of a policy written by a user: numbers and texts by name."""

    kind: Literal["own"] = "own"
    numbers: Mapping[str, float] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)


PolicyMemory = HpaMemory | Ds2Memory | DraMemory | TriggerDraMemory | ElasticMemory | AutoMemory | OwnMemory
