"""What a form of the regression is: something that can be fitted to rows, and then answers anywhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Protocol

from penstock.core.models.arrays import Floats
from penstock.core.models.surrogate.points import Points


class Fitted(Protocol):
    """A form with its parameters."""

    @property
    def parameters(self) -> Mapping[str, float]: ...

    def at(self, points: Points) -> Floats:
        """Positive at every point; infinite where the form says never."""
        ...


class Form(Protocol):
    """A shape to try; `fit` needs nothing but rows and gives the same for the same rows."""

    @property
    def name(self) -> str: ...

    def fit(self, points: Points, seen: Floats) -> Fitted: ...


class Derived(ABC):
    """A form that starts from the fit of another one, its `base`, so that a trial which has that fit need not make it again."""

    __slots__ = ()
    base: Form

    @abstractmethod
    def derive(self, base: Fitted, points: Points, seen: Floats) -> Fitted: ...

    def fit(self, points: Points, seen: Floats) -> Fitted:
        return self.derive(self.base.fit(points, seen), points, seen)
