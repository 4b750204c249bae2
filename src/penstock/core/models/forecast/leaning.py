"""What the combination got wrong, regressed on the candidates: how far to lean towards one and away from another."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from penstock.core.models.forecast.series import Floats

RIDGE = 0.1
"""Of all that the candidates vary, a horizon seen: what the regression must overcome."""
ROUNDING = 1e-6
"""Of the load: errors below it are all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaning:
    """Sums of a ridge regression of the errors e of the combination on the departures d of the candidates from the naive forecast: of d d' / |e| and d e / |e|.

    Dividing by the size of an error makes the least squares those of absolute errors (one step of iterated reweighting), which WAPE adds up.
    """

    gram: tuple[tuple[float, ...], ...] = ()
    cross: tuple[float, ...] = ()

    def faded(self, share: float) -> Leaning:
        return replace(self, gram=tuple(tuple(share * value for value in row) for row in self.gram), cross=tuple(share * value for value in self.cross))

    def learn(self, departures: Floats, errors: Floats, load: float, counts: Floats) -> Leaning:
        """With departures by candidate, origin and lead, errors by origin and lead (NaN where unknown), a usual rate, and what each origin counts.

        >>> seen = Leaning().learn(np.array([[[2.0]]]), np.array([[1.0]]), 10.0, np.array([1.0]))
        >>> seen
        Leaning(gram=((4.0,),), cross=(2.0,))
        >>> seen.towards(1e9, np.array([True])).round(6).tolist()
        [0.5]
        """
        known = np.isfinite(errors)
        size = np.abs(errors[known])
        least = max(float(np.median(size)), ROUNDING * load) if len(size) else 0.0
        if least <= 0:
            return self
        error = np.where(known, errors, 0.0)
        factor = (counts[:, None] * known / np.maximum(np.abs(error), least)).ravel()
        flat = departures.reshape(len(departures), -1)
        gram, cross = (flat * factor) @ flat.T, (flat * factor) @ error.ravel()
        if len(self.cross) == len(cross):
            gram, cross = gram + np.array(self.gram), cross + np.array(self.cross)
        return Leaning(gram=tuple(tuple(row) for row in gram.tolist()), cross=tuple(cross.tolist()))

    def towards(self, horizons: float, ready: npt.NDArray[np.bool_]) -> Floats:
        """What to add to the weight of each candidate, nothing for one that is not ready; `horizons` is how many were seen."""
        found = np.zeros(len(ready))
        if len(self.cross) == len(ready) and ready.any():
            gram, cross = np.array(self.gram)[np.ix_(ready, ready)], np.array(self.cross)[ready]
            if np.trace(gram) > 0:
                found[ready] = np.linalg.solve(gram + RIDGE / max(horizons, RIDGE) * np.trace(gram) * np.eye(len(gram)), cross)
        return found
