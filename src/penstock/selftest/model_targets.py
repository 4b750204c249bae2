"""Measured numbers of models and their targets."""

from dataclasses import dataclass, field

SEEDS = range(100, 106)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A measured number with its target from `least` to `most`; it has no target without both.

    `constant` and `paper` are the errors of a constant and of the paper's method on the same data.

    >>> Measured(what="error", found=0.06, most=0.05).met, Measured(what="covered", found=0.8, least=0.7, most=0.9).wanted
    (False, '0.7 to 0.9')
    """

    what: str
    found: float
    least: float | None = None
    most: float | None = None
    constant: float | None = None
    paper: float | None = None
    beside: str = ""
    met: bool | None = field(init=False)
    """None if there is no target."""

    def __post_init__(self) -> None:
        within = (self.least is None or self.found >= self.least) and (self.most is None or self.found <= self.most)
        object.__setattr__(self, "met", None if self.least is None and self.most is None else within)

    @property
    def wanted(self) -> str:
        if self.least is None:
            return "none" if self.most is None else f"at most {self.most:g}"
        return f"at least {self.least:g}" if self.most is None else f"{self.least:g} to {self.most:g}"

    @property
    def said(self) -> str:
        """One line with the number, its target and the errors to compare with."""
        beside = [f"{name} {error:.3g}" for name, error in (("a constant", self.constant), ("the paper", self.paper)) if error is not None]
        missed = ["MISSED"] if self.met is False else []
        return "; ".join([f"{self.found:.3g}", f"target {self.wanted}", *missed, *beside, *([self.beside] if self.beside else [])])


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The numbers of one measurement; `gain` is that of a forecast over the best simple forecaster."""

    measured: tuple[Measured, ...]
    gain: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsResult:
    measured: tuple[Measured, ...]

    @property
    def missed(self) -> tuple[str, ...]:
        return tuple(each.what for each in self.measured if each.met is False)

    def rows(self) -> list[tuple[str, str]]:
        return [*((each.what, each.said) for each in self.measured), ("targets", f"{len(self.missed)} MISSED" if self.missed else "all met")]
