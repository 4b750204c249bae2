"""A regression over (interval, rate[, number of executors]) learnt from rows: its choice of forms, its bounds, and its error on held-out rows."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.score import Score, mape
from penstock.core.models.surrogate.choice import Chosen, by_row, choose, groups_of, together
from penstock.core.models.surrogate.crossvalidation import SAME_INTERVAL, Groups, LeaveOut, Trials, different_rows, folds, interval_groups, within_errors
from penstock.core.models.surrogate.linear import Plane
from penstock.core.models.surrogate.points import Form, Points, point

LEAST_ROWS = 4
"""Three parameters and one row to test them."""

MOST_SEEN = 500
"""The newest rows, up to this many, are kept."""

HELD_OUT_SINGLY, PARTS_OF_MORE = 60, 20
"""Up to HELD_OUT_SINGLY rows are held out one by one; more are divided into PARTS_OF_MORE parts."""

MOST_CHOICES = 12
"""With more parts than this, several share a choice that was made without any of them."""


class Study:
    """All that follows from the rows; made from them when needed and never stored."""

    def __init__(self, points: Points, seen: Floats, forms: Sequence[Form]) -> None:
        self.points, self.seen, self.forms = points, seen, forms
        self._trials = Trials(points, seen)
        self._all: Flags = np.ones(len(seen), dtype=bool)

    @cached_property
    def choice(self) -> Chosen:
        return choose(self._trials, self.forms, self._all)

    def predict(self, interval_s: float, rate_rows_per_s: float, executors: int | None) -> Estimate | NotReady:
        """Return the answer of the chosen forms, with bounds from held-out errors of its kind: at a seen interval, between seen ones, or beyond them.

        Outside of the seen ranges the bounds also include the answers of all chosen forms.
        """
        if self.points.executors_vary and executors is None:
            return NotReady(why="learnt over several numbers of executors: name one")
        known = None if self.points.executors is None else int(self.points.executors[-1]) if executors is None else executors
        place = point(interval_s, rate_rows_per_s, known)
        value = float(self.choice.at(place)[0])
        if math.isinf(value):
            return self._never(interval_s)
        answer = within_errors(value, self._errors_like(interval_s))
        if self.inside(interval_s, rate_rows_per_s, known):
            return answer
        least, greatest = self.choice.apart_at(place)
        return replace(answer, low=min(answer.low, float(least[0])), high=max(answer.high, float(greatest[0])))

    def inside(self, interval_s: float, rate_rows_per_s: float, executors: int | None) -> bool:
        """Return whether a point lies within the seen intervals, rates and numbers of executors."""
        known = [(interval_s, self.points.interval_s), (rate_rows_per_s, self.points.rate)]
        if executors is not None and self.points.executors is not None:
            known.append((executors, self.points.executors))
        return all(column.min() <= value <= column.max() for value, column in known)

    def score(self, leave_out: LeaveOut) -> Score | NotReady:
        """Return the error on rows held out from the fits and from the choice of forms."""
        if self.parts(leave_out) < 2:
            return NotReady(why=f"all rows are {'of one interval' if leave_out is LeaveOut.INTERVAL else 'the same'}: none can be predicted from the others")
        groups, plane = self._groups(leave_out), Plane()
        answered = self._held_out(groups)
        return Score(
            mape=self._mape(answered),
            constant_mape=self._held_out_mape(groups, lambda rows, held: np.full(int(held.sum()), self.seen[rows].mean())),
            paper_mape=self._held_out_mape(groups, lambda rows, held: plane.fit(self.points.where(rows), self.seen[rows]).at(self.points.where(held))),
            held_out=len(self.seen),
            never=int(np.isinf(answered).sum()),
        )

    def candidates(self, leave_out: LeaveOut) -> Mapping[str, float]:
        """Return the held-out MAPE of each form alone."""
        if self.parts(leave_out) < 2:
            return {}
        groups = self._groups(leave_out)
        return {form.name: self._mape(self._trials.held_out(form, self._all, groups)) for form in self.forms}

    def parts(self, leave_out: LeaveOut) -> int:
        """Return the number of parts that are held out one after the other."""
        return int(self._groups(leave_out).max()) + 1

    def _held_out(self, groups: Groups) -> Floats:
        """Return the prediction of each row by forms that were fitted and chosen without its group."""
        predicted, parts = np.zeros(len(self.seen)), groups % MOST_CHOICES
        for part in folds(parts):
            chosen = choose(self._trials, self.forms, ~part)
            for held in folds(np.where(part, groups, -1)):
                if np.any(held & part):
                    predicted[held] = chosen.fitted_to(self._trials, ~held).at(self.points.where(held))
        return predicted

    def _groups(self, leave_out: LeaveOut) -> Groups:
        """Return the groups to hold out; identical rows are in one group, so that none is predicted from itself."""
        if leave_out is LeaveOut.INTERVAL:
            return interval_groups(self.points.interval_s)
        rows = different_rows(self.points, self.seen)
        different = int(rows.max()) + 1
        return np.asarray(rows % (different if different <= HELD_OUT_SINGLY else PARTS_OF_MORE))

    def _never(self, interval_s: float) -> Estimate:
        """Return an infinite estimate whose lower bound is the greatest value seen at this interval or a shorter one."""
        return Estimate(value=math.inf, low=float(self.seen[self.points.interval_s <= interval_s].max(initial=0.0)), high=math.inf)

    def _held_out_mape(self, groups: Groups, answer: Callable[[Flags, Flags], Floats]) -> float:
        predicted = np.zeros(len(self.seen))
        for held in folds(groups):
            predicted[held] = answer(~held, held)
        return self._mape(predicted)

    def _mape(self, predicted: Floats) -> float:
        """Return the MAPE over all rows; an infinite answer counts as 100 % off."""
        return mape(list(np.where(np.isfinite(predicted), predicted, 0.0)), list(self.seen))

    def _errors_like(self, interval_s: float) -> Floats:
        groups = groups_of(self._trials, self._all)
        seen_at = np.abs(self.points.interval_s - interval_s) <= SAME_INTERVAL * interval_s
        if np.any(seen_at):
            return self._errors_by_row
        inner = (groups > groups.min()) & (groups < groups.max())
        between = self.points.interval_s.min() < interval_s < self.points.interval_s.max()
        like = inner if between and np.any(inner) else ~inner
        errors = self._errors_by_interval
        return np.asarray(errors[like & np.isfinite(errors)], dtype=float)

    @cached_property
    def _errors_by_interval(self) -> Floats:
        return self._errors(groups_of(self._trials, self._all))

    @cached_property
    def _errors_by_row(self) -> Floats:
        errors = self._errors(by_row(self.points, self.seen))
        return errors[np.isfinite(errors)]

    def _errors(self, groups: Groups) -> Floats:
        held_out = together([self._trials.held_out(form, self._all, groups) for form in self.choice.forms], self.choice.shares)
        return np.log(self.seen) - np.log(held_out)


class Studied(ABC):
    """Base of the regressions; a subclass provides the study of the rows it has seen."""

    __slots__ = ()

    @property
    @abstractmethod
    def study(self) -> Study | NotReady: ...

    def predict(self, interval_s: float, rate_rows_per_s: float, executors: int | None = None) -> Estimate | NotReady:
        """Return the expected value at this interval and rate, with bounds from held-out rows."""
        study = self.study
        return study if isinstance(study, NotReady) else study.predict(interval_s, rate_rows_per_s, executors)

    def inside(self, interval_s: float, rate_rows_per_s: float, executors: int | None = None) -> bool:
        """Return whether such intervals, rates and numbers of executors were seen; predictions elsewhere are to be flagged."""
        study = self.study
        return not isinstance(study, NotReady) and study.inside(interval_s, rate_rows_per_s, executors)

    @property
    def form(self) -> str | None:
        """The names of the chosen forms, the best first; None before there is one."""
        study = self.study
        return None if isinstance(study, NotReady) else study.choice.name

    @property
    def parameters(self) -> Mapping[str, float]:
        """The parameters of the best form."""
        study = self.study
        return {} if isinstance(study, NotReady) else study.choice.fits[0].parameters

    def score(self, leave_out: LeaveOut = LeaveOut.INTERVAL) -> Score | NotReady:
        """Return the error on rows held out from the fits and from the choice of forms, beside the constant and the paper's plane."""
        study = self.study
        return study if isinstance(study, NotReady) else study.score(leave_out)

    def candidates(self, leave_out: LeaveOut = LeaveOut.INTERVAL) -> Mapping[str, float]:
        """Return the held-out error of each form alone."""
        study = self.study
        return {} if isinstance(study, NotReady) else study.candidates(leave_out)
