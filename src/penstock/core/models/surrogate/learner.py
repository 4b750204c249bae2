"""What the regressions over (interval, rate[, scale-out]) answer, whatever they are regressions of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.score import Score
from penstock.core.models.surrogate.crossvalidation import LeaveOut
from penstock.core.models.surrogate.study import Study


class Studied(ABC):
    """Inherit, and say what the study of the rows is that were seen."""

    __slots__ = ()

    @property
    @abstractmethod
    def study(self) -> Study | NotReady: ...

    def predict(self, interval_s: float, rate_rows_per_s: float, scaleout: int | None = None) -> Estimate | NotReady:
        """What to expect at this interval and rate, with bounds from rows that were held out."""
        study = self.study
        return study if isinstance(study, NotReady) else study.predict(interval_s, rate_rows_per_s, scaleout)

    def inside(self, interval_s: float, rate_rows_per_s: float, scaleout: int | None = None) -> bool:
        """Whether such intervals, rates and scale-outs were seen; a prediction elsewhere is to be flagged."""
        study = self.study
        return not isinstance(study, NotReady) and study.inside(interval_s, rate_rows_per_s, scaleout)

    @property
    def form(self) -> str | None:
        """The name of the form that was chosen, or of those that share the answer, the best first; None before there is one."""
        study = self.study
        return None if isinstance(study, NotReady) else study.choice.name

    @property
    def parameters(self) -> Mapping[str, float]:
        """Those of the best form that was chosen."""
        study = self.study
        return {} if isinstance(study, NotReady) else study.choice.fits[0].parameters

    def score(self, leave_out: LeaveOut = LeaveOut.INTERVAL) -> Score | NotReady:
        """The error on rows held out from everything, the choice of the form included, beside the constant and the paper's plane."""
        study = self.study
        return study if isinstance(study, NotReady) else study.score(leave_out)

    def candidates(self, leave_out: LeaveOut = LeaveOut.INTERVAL) -> Mapping[str, float]:
        """The held-out error of each form by itself."""
        study = self.study
        return {} if isinstance(study, NotReady) else study.candidates(leave_out)
