"""Where a regression is asked or was measured: checkpoint intervals, rates and scale-outs, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from penstock.core.models.arrays import Flags, Floats


class Placed(Protocol):
    """An observation that says where it was made."""

    @property
    def interval_s(self) -> float: ...
    @property
    def rate_rows_per_s(self) -> float: ...
    @property
    def scaleout(self) -> int | None: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Points:
    """Columns of equal length; `scaleout` is None where it is not known of every row."""

    interval_s: Floats
    rate: Floats
    scaleout: Floats | None = None

    def where(self, rows: Flags) -> Points:
        """Only these rows."""
        return Points(interval_s=self.interval_s[rows], rate=self.rate[rows], scaleout=None if self.scaleout is None else self.scaleout[rows])

    @property
    def scaleout_moves(self) -> bool:
        """Whether there is more than one scale-out to learn from."""
        return self.scaleout is not None and bool(np.ptp(self.scaleout) > 0)

    @property
    def load(self) -> Floats:
        """Rows/s for each worker, or for all where their number is not known."""
        return self.rate if self.scaleout is None else self.rate / self.scaleout

    def __len__(self) -> int:
        return len(self.rate)


def points_of(seen: Sequence[Placed]) -> Points:
    """The columns of observations.

    >>> from penstock.core.models.recovery.regression import RecoverySeen
    >>> points_of([RecoverySeen(interval_s=10, rate_rows_per_s=500, recovery_s=70)]).rate.tolist()
    [500.0]
    """
    sizes = [each.scaleout for each in seen if each.scaleout is not None]
    return Points(
        interval_s=np.array([each.interval_s for each in seen], dtype=float),
        rate=np.array([each.rate_rows_per_s for each in seen], dtype=float),
        scaleout=np.array(sizes, dtype=float) if sizes and len(sizes) == len(seen) else None,
    )


def point(interval_s: float, rate_rows_per_s: float, scaleout: int | None) -> Points:
    """One place to ask about."""
    size = None if scaleout is None else np.array([float(scaleout)])
    return Points(interval_s=np.array([float(interval_s)]), rate=np.array([float(rate_rows_per_s)]), scaleout=size)
