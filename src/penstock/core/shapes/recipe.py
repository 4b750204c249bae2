"""What makes the rate of a trace: fixed for the life of its checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.errors import UserMistake
from penstock.core.shapes.knots import AT_END, Knots
from penstock.core.shapes.shape import parse_shape


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRecipe:
    """A shape with its seed, or the knots of a CSV with what follows them; how fast its time passes, and a factor on its rate.

    `compression` is trace seconds per wall second: the rate at a trace time stays, so a compressed trace has fewer rows.
    """

    shape: str | None = None
    seed: int = 0
    knots: Knots | None = None
    at_end: str = "hold"
    compression: float = 1.0
    rate_factor: float = 1.0

    def __post_init__(self) -> None:
        if (self.shape is None) == (self.knots is None):
            raise ValueError("a trace has either a shape or knots")
        if self.at_end not in AT_END:
            raise UserMistake(f"trace: at_end: found {self.at_end!r}, one of {', '.join(AT_END)} is allowed")
        if not 1e-6 <= self.compression <= 1e6:
            raise UserMistake(f"trace: compression: found {self.compression:g}, a number from 1e-6 to 1e6 is allowed")
        if not 0 <= self.rate_factor <= 1e6:
            raise UserMistake(f"trace: rate factor: found {self.rate_factor:g}, a number from 0 to 1e6 is allowed")
        if self.shape is not None:
            parse_shape(self.shape, self.seed)

    @property
    def fingerprint(self) -> str:
        """The trace in one line: two that differ here send other rows.

        >>> TraceRecipe(shape="constant(2k)", seed=7).fingerprint
        'constant(rate=2000), seed 7'
        """
        if self.knots is not None:
            return f"csv {self.knots.digest}, at_end {self.at_end}"
        return f"{parse_shape(self.shape or '')}, seed {self.seed}"
