"""A target of a model: what was found, what is wanted."""

from __future__ import annotations

from dataclasses import dataclass

SEEDS = range(100, 106)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One target: what was measured, and what is wanted."""

    what: str
    found: float
    target: str
    beside: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsResult:
    """All targets of the models."""

    measured: tuple[Measured, ...]

    def rows(self) -> list[tuple[str, str]]:
        return [(each.what, f"{each.found:.3g}; target {each.target}{'; ' + each.beside if each.beside else ''}") for each in self.measured]
