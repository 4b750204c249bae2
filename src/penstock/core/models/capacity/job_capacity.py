"""Capacity of a job from the utilisation of its executors, with as many executors as now and with others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal, Self

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.capacity.beliefs import REVISIT_SPREAD, Beliefs, Remembered, beliefs_elsewhere, measured, mixture, weighed
from penstock.core.models.capacity.executor_lines import AVERAGING_S, IDLE_SPREAD, MIN_READINGS, CapacityLine
from penstock.core.models.capacity.executor_use import WINDOW, ExecutorUses, as_arrays, glitches, leading_glitches
from penstock.core.models.capacity.samples import SampledStay, score_stays, with_readings
from penstock.core.models.capacity.stay import ExecutorsLaw, Stay, executor_regressions, executors_law, first_stay, job_law_line, job_regression_line
from penstock.core.models.estimate import Estimate, Estimates, NotReady
from penstock.core.models.once import once
from penstock.core.models.score import Score

Method = Literal["utilization_law", "daedalus"]
"""`daedalus` is the paper's sum of regressions, `utilization_law` what replaces it where utilisation is noisy."""

WARM_UP_S = 60.0
"""Readings of this long after a change are left out (Daedalus sec. 3.1)."""

HALF_LIFE_S = 6 * 3600.0
"""After this long a reading weighs half, and a number of executors not seen since is half forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorCapacity:
    """One executor when the busiest is at the utilisation asked for: its rows/s, and its utilisation as a proportion of the busiest one's."""

    executor: str
    capacity_rows_per_s: float
    proportion: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCapacity:
    """Learns from moments at which all executors were read (Daedalus sec. 3.1).

    `stay` is the present set of executors. `waiting` are its newest readings, held back until enough came after them to recognise a glitch. `remembered` are
    the numbers of executors seen before, in their order. `samples` are a few moments of each stay, for the score.

    Utilisation of micro-batches saturates at 1 - a/T (overhead a, batch time T): ask for the capacity there, not at 1.

    >>> from penstock.core.models.capacity.executor_use import ExecutorUse
    >>> def reading(at_s: float, load: float) -> ExecutorUses:
    ...     busy = ExecutorUse(executor="1", utilization=load, throughput_rows_per_s=1000.0 * load)
    ...     less = ExecutorUse(executor="2", utilization=0.5 * load, throughput_rows_per_s=500.0 * load)
    ...     return ExecutorUses(at_s=at_s, executors=2, since_change_s=None, uses=(busy, less))
    >>> model = JobCapacity().learn([reading(15.0 * i, 0.2 + 0.02 * i) for i in range(10)])
    >>> round(model.predict().value, 6), round(model.predict(executors=4).value, 6), round(model.skew(), 6)
    (1500.0, 3000.0, 1.333333)
    """

    method: Method = "utilization_law"
    warm_up_s: float = WARM_UP_S
    half_life_s: float = HALF_LIFE_S
    averaging_s: float = AVERAGING_S
    idle_spread: float = IDLE_SPREAD
    stay: Stay | None = None
    waiting: tuple[ExecutorUses, ...] = ()
    remembered: tuple[Remembered, ...] = ()
    samples: tuple[SampledStay, ...] = ()

    def learn(self, seen: Sequence[ExecutorUses]) -> Self:
        """Learn readings in the order of time; those during warm-up, with an executor missing or with all executors idle are left out."""
        used = [reading for reading in seen if self.uses(reading)]
        model = replace(self, samples=with_readings(self.samples, used)) if used else self
        for names, run in groupby(used, key=lambda reading: reading.names):
            if model.stay is not None and model.stay.names != names:
                model = model._left()
            model = model._stayed(tuple(run))
        return model

    def predict(self, *, at_utilization: float = 1.0, executors: int | None = None) -> Estimate | NotReady:
        """Return the rows/s of all executors when the busiest is at `at_utilization`, by default with the present executors.

        The present number of executors is measured. One seen before is remembered, and fades into the average of an executor times their number, which is
        also the answer for one never seen.
        """
        if executors is None and self.stay is not None:
            executors = self.stay.executors
        if executors is None:
            return self._not_ready()
        answers = self.predict_each([executors], np.array([at_utilization]))
        return answers if isinstance(answers, NotReady) else answers.each()[0]

    def predict_each(self, executor_counts: Sequence[int], at_utilization: Floats) -> Estimates | NotReady:
        """Predict for several numbers of executors, each at a utilisation of its own; that costs little more than one."""
        here = self._here()
        known = [*self.remembered, *([here] if here else [])]
        if not known:
            return self._not_ready()
        newest, memories = max(known, key=lambda each: each.at_s), {each.executors: each for each in self.remembered}
        beliefs = beliefs_elsewhere(newest, at_utilization, np.array(executor_counts))
        places = [place for place, executors in enumerate(executor_counts) if executors in memories]
        if places:
            asked = [memories[executor_counts[place]] for place in places]
            beliefs = beliefs.replaced(places, self._beliefs(asked, here, newest, at_utilization[places], beliefs.at(places)))
        return beliefs.estimates()

    def carried(self) -> dict[int, float]:
        """Return the mean throughput seen with each number of executors, decayed like its memory: a proven lower bound of its capacity."""
        here = self._here()
        known = {each.executors: each for each in (*self.remembered, *([here] if here else []))}
        newest_s = max((each.at_s for each in known.values()), default=0.0)
        return {executors: each.carried_rows_per_s * math.exp2((each.at_s - newest_s) / self.half_life_s) for executors, each in known.items()}

    def predict_throughput(self, reading: ExecutorUses) -> Estimate | NotReady:
        """Return the throughput that the utilisations of a reading imply.

        The utilisation of the busiest executor is derived from the mean of all and its share in the past: the highest of noisy readings is too high.
        """
        stay, law = self._settled(), self._law()
        utilizations = [use.utilization for use in reading.uses]
        busiest = max(utilizations, default=0.0)
        if law is not None:
            busiest = law.first_at(sum(utilizations) / len(utilizations))
        elif stay is not None and stay.load.mean_y > 0.0:
            busiest = sum(utilizations) / len(utilizations) * float(stay.by_executor.moments.mean_x.max()) / stay.load.mean_y
        return self.predict(at_utilization=busiest, executors=reading.executors)

    def score(self) -> Score | NotReady:
        """Return the error on the busiest third of the samples, learnt from the rest, beside their mean and the paper's sum of regressions.

        Samples are a few executors at a few moments; with all readings at hand use `score_extrapolation`.
        """
        found = score_stays(self.samples, self.idle_spread)
        return replace(found, mape=found.paper_mape) if isinstance(found, Score) and found.paper_mape is not None and self.method == "daedalus" else found

    def settled(self) -> Self:
        """Return the model after it has judged and learnt the waiting readings: many questions are then cheap."""
        return replace(self, stay=self._settled(), waiting=())

    def each_executor(self, *, at_utilization: float = 1.0) -> tuple[ExecutorCapacity, ...]:
        """Return every present executor when the busiest is at `at_utilization`; they add up to the capacity measured here. Empty before there is one."""
        stay = self._settled()
        line = self._line(stay) if stay else None
        if stay is None or line is None:
            return ()
        law, by_executor = self._law(), stay.by_executor
        if law is None:
            known, lines = executor_regressions(stay, idle_spread=self.idle_spread)
            rates, proportions = np.zeros(len(stay.names)), by_executor.proportion
            rates[known] = lines.along(proportions[known]).value_at(at_utilization)
        else:
            rates, proportions = line.value_at(at_utilization) * by_executor.moments.mean_y / stay.load.mean_x, law.at_full
        columns = zip(stay.names, rates.tolist(), proportions.tolist(), strict=True)
        return tuple(ExecutorCapacity(executor=name, capacity_rows_per_s=rate, proportion=proportion) for name, rate, proportion in columns)

    def skew(self, *, at_utilization: float = 1.0) -> float | NotReady:
        """Return the capacity if every executor could be as busy as the busiest, over the capacity: 1 is balanced, 1.25 leaves a fifth of them idle."""
        stay = self._settled()
        line = self._line(stay) if stay else None
        if stay is None or line is None:
            return self._not_ready()
        law = self._law()
        if law is not None:
            return law.skew
        _, lines = executor_regressions(stay, idle_spread=self.idle_spread)
        with_skew = float(line.value_at(at_utilization))
        return sum(lines.value_at(at_utilization).tolist()) / with_skew if with_skew > 0.0 else 1.0

    def uses(self, reading: ExecutorUses) -> bool:
        """Return whether a reading has all executors, is past warm-up, and at least one executor was busy."""
        settled = reading.since_change_s is None or reading.since_change_s >= self.warm_up_s
        return settled and reading.is_whole and any(use.utilization > 0.0 for use in reading.uses)

    def _not_ready(self) -> NotReady:
        stay = self._settled()
        if stay is not None and round(stay.readings) >= MIN_READINGS:
            return NotReady(why="no executor processed anything in them")
        return NotReady(why=f"fewer than {MIN_READINGS} readings of all executors at work, outside of warm-up")

    def _stayed(self, readings: tuple[ExecutorUses, ...]) -> Self:
        """Add readings of the present executors, and judge and learn those with a whole window after them."""
        stay = self.stay or first_stay(readings[0])
        waiting = (*self.waiting, *readings)
        judged = len(waiting) - WINDOW + 1
        if judged > 0:
            off = leading_glitches(*as_arrays(waiting))
            stay = stay.learned([reading for reading, glitch in zip(waiting[:judged], off, strict=True) if not glitch], self.half_life_s, self.averaging_s)
            waiting = waiting[judged:]
        return replace(self, stay=stay, waiting=waiting)

    def _left(self) -> Self:
        """Return the model without the present executors: what they showed becomes the memory of this number of executors."""
        here = self._here()
        if here is None:
            return replace(self, stay=None, waiting=())
        before = next((each for each in self.remembered if each.executors == here.executors), None)
        joined = before.joined(here, self.half_life_s) if before else here
        others = [each for each in self.remembered if each.executors != here.executors]
        return replace(self, stay=None, waiting=(), remembered=tuple(sorted([*others, joined], key=lambda each: each.executors)))

    def _settled(self) -> Stay | None:
        return _settled_stay(self)

    def _here(self) -> Remembered | None:
        return _measured_here(self)

    def _law(self) -> ExecutorsLaw | None:
        """Return the law of every present executor; None for the paper's method."""
        return _law_here(self) if self.method == "utilization_law" else None

    def _line(self, stay: Stay) -> CapacityLine | None:
        line_of = job_regression_line if self.method == "daedalus" else job_law_line
        return line_of(stay, idle_spread=self.idle_spread)

    def _beliefs(self, memories: Sequence[Remembered], here: Remembered | None, newest: Remembered, at_utilization: Floats, elsewhere: Beliefs) -> Beliefs:
        """Return the capacity with numbers of executors that are remembered; `elsewhere` is the belief without the memory."""
        fresh = np.array([math.exp2(-max(0.0, newest.at_s - memory.at_s) / self.half_life_s) for memory in memories])
        before = measured(memories, at_utilization)
        doubt = np.array([memory.doubt(at) for memory, at in zip(memories, at_utilization.tolist(), strict=True)])
        beliefs = mixture(before.doubted(doubt).doubted(REVISIT_SPREAD), elsewhere, fresh)
        places = [place for place, memory in enumerate(memories) if here is not None and memory.executors == here.executors]
        if here is None or not places:
            return beliefs
        at, faded = at_utilization[places], before.doubted(REVISIT_SPREAD).at(places)
        faded = replace(faded, variance=faded.variance / np.maximum(fresh[places], 1e-9))
        return beliefs.replaced(places, weighed(measured([here] * len(places), at), faded).doubted(here.doubt(at)))


@once(16)
def _settled_stay(model: JobCapacity) -> Stay | None:
    """Return the present stay with its waiting readings, judged by what is known now."""
    if model.stay is None or not model.waiting:
        return model.stay
    off = glitches(*as_arrays(model.waiting))
    kept = [reading for reading, glitch in zip(model.waiting, off, strict=True) if not glitch]
    return model.stay.learned(kept, model.half_life_s, model.averaging_s)


@once(16)
def _law_here(model: JobCapacity) -> ExecutorsLaw | None:
    """Return the law of every present executor, cached because many readings are judged by it."""
    stay = model._settled()
    return executors_law(stay, idle_spread=model.idle_spread) if stay else None


@once(16)
def _measured_here(model: JobCapacity) -> Remembered | None:
    """Return the line of the present executors, cached because the capacity with any executors is predicted from it."""
    stay = model._settled()
    line = model._line(stay) if stay else None
    if stay is None or line is None:
        return None
    return Remembered(
        executors=stay.executors,
        at_s=stay.at_s,
        readings=stay.readings,
        line=line,
        highest_utilization=stay.highest_utilization,
        carried_rows_per_s=stay.load.mean_x,
    )
