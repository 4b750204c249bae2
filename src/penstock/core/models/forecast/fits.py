"""What is learnt from testing forecasters on a history: slow to find, plain to keep."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.core.models.forecast.candidate import Parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """Parameters of the candidates that need a fit, and how all did at earlier origins; `losses` and `load` fade, so that the last hours count most."""

    at: int
    """Number of the bin after the newest one seen."""
    scored: int
    """Number of the newest origin whose whole horizon was scored."""
    parameters: dict[str, Parameters] = field(default_factory=dict)
    fitted_at: dict[str, int] = field(default_factory=dict)
    losses: dict[str, float] = field(default_factory=dict)
    load: float = 0.0
    errors: tuple[tuple[float, ...], ...] = ()
    """Errors of the combination in units of its spread, by origin and lead, the newest last."""
    bad_in_a_row: int = 0
    """Origins in a row at which AutoARIMA was off by more than a quarter (Daedalus sec. 3.3)."""
