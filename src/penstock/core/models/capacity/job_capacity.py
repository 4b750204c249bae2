"""Capacity of a job: all its workers together, at this scale-out and at others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal, Self

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.capacity.beliefs import REVISIT_SPREAD, Belief, Remembered, beliefs_elsewhere, mixture, weighed
from penstock.core.models.capacity.samples import SampledStay, score_stays, with_readings
from penstock.core.models.capacity.stay import Stay, StayColumns, WorkersLaw, columns_of, first_stay, job_law_line, job_regression_line, workers_law
from penstock.core.models.capacity.worker_lines import AVERAGING_S, IDLE_SPREAD, MIN_READINGS, CapacityLine, regression_line
from penstock.core.models.capacity.worker_readings import WINDOW, WorkersReading, as_arrays, glitches, leading_glitches
from penstock.core.models.estimate import Estimate, Estimates, NotReady
from penstock.core.models.once import once
from penstock.core.models.score import Score

Method = Literal["utilization_law", "daedalus"]
"""`daedalus` is the paper's sum of regressions, `utilization_law` what replaces it where utilisation is noisy."""

WARM_UP_S = 60.0
"""Readings of this long after a change are left out (Daedalus sec. 3.1)."""

HALF_LIFE_S = 6 * 3600.0
"""After this long a reading weighs half, and a scale-out not seen since is half forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerShare:
    """One worker when the busiest is at the utilisation asked for: its rows/s, and its utilisation as a proportion of the busiest one's."""

    worker: str
    capacity_rows_per_s: float
    proportion: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCapacity:
    """Learns from moments at which all workers were read (Daedalus sec. 3.1); `stay` is the present set of workers, `waiting` its newest readings,
    held back until enough came after them to tell a glitch, `remembered` the scale-outs seen before, by scale-out, `samples` a few of each for the score.

    Utilisation of micro-batches saturates at 1 - a/T (overhead a, batch time T): ask for the capacity there, not at 1.

    >>> from penstock.core.models.capacity.worker_readings import WorkerReading
    >>> def reading(at_s: float, load: float) -> WorkersReading:
    ...     busy = WorkerReading(worker="1", utilization=load, throughput_rows_per_s=1000.0 * load)
    ...     less = WorkerReading(worker="2", utilization=0.5 * load, throughput_rows_per_s=500.0 * load)
    ...     return WorkersReading(at_s=at_s, scaleout=2, since_change_s=None, workers=(busy, less))
    >>> model = JobCapacity().learn([reading(15.0 * i, 0.2 + 0.02 * i) for i in range(10)])
    >>> round(model.predict().value, 6), round(model.predict(scaleout=4).value, 6), round(model.skew(), 6)
    (1500.0, 3000.0, 1.333333)
    """

    method: Method = "utilization_law"
    warm_up_s: float = WARM_UP_S
    half_life_s: float = HALF_LIFE_S
    averaging_s: float = AVERAGING_S
    idle_spread: float = IDLE_SPREAD
    stay: Stay | None = None
    waiting: tuple[WorkersReading, ...] = ()
    remembered: tuple[Remembered, ...] = ()
    samples: tuple[SampledStay, ...] = ()

    def learn(self, seen: Sequence[WorkersReading]) -> Self:
        """Readings in the order of time; those during warm-up, with a worker missing or with nothing going on are left out."""
        telling = [reading for reading in seen if self.tells(reading)]
        model = replace(self, samples=with_readings(self.samples, telling)) if telling else self
        for names, run in groupby(telling, key=lambda reading: reading.names):
            if model.stay is not None and model.stay.names != names:
                model = model._left()
            model = model._stayed(tuple(run))
        return model

    def predict(self, *, at_utilization: float = 1.0, scaleout: int | None = None) -> Estimate | NotReady:
        """Rows/s of all workers when the busiest is at `at_utilization`; at the present scale-out unless another is named.

        The present scale-out is measured; one seen before is remembered and fades into the average per worker times the scale-out, which is what
        there is for one never seen.
        """
        if scaleout is None and self.stay is not None:
            scaleout = self.stay.scaleout
        if scaleout is None:
            return self._not_ready()
        answers = self.predict_each([scaleout], np.array([at_utilization]))
        return answers if isinstance(answers, NotReady) else answers.each()[0]

    def predict_each(self, scaleouts: Sequence[int], at_utilization: Floats) -> Estimates | NotReady:
        """The same for several scale-outs, each at a utilisation of its own, for little more than one costs."""
        here = self._here()
        known = [*self.remembered, *([here] if here else [])]
        if not known:
            return self._not_ready()
        newest, memories = max(known, key=lambda each: each.at_s), {each.scaleout: each for each in self.remembered}
        elsewhere = beliefs_elsewhere(newest, at_utilization, np.array(scaleouts))
        remembered = {
            place: self._belief(memories[scaleout], here, newest, float(at_utilization[place]), elsewhere.at(place))
            for place, scaleout in enumerate(scaleouts)
            if scaleout in memories
        }
        return elsewhere.with_those(remembered).estimates()

    def carried(self) -> dict[int, float]:
        """Rows/s that each scale-out was seen to carry on average, faded as the memory of it is: whatever a line says, it can take so much."""
        here = self._here()
        known = {each.scaleout: each for each in (*self.remembered, *([here] if here else []))}
        newest_s = max((each.at_s for each in known.values()), default=0.0)
        return {scaleout: each.carried_rows_per_s * math.exp2((each.at_s - newest_s) / self.half_life_s) for scaleout, each in known.items()}

    def foretell(self, reading: WorkersReading) -> Estimate | NotReady:
        """The throughput that these utilisations mean.

        How busy the busiest worker is, is told from the mean of all and its share in the past: the highest of noisy readings is too high.
        """
        stay, law = self._settled(), self._law()
        utilizations = [worker.utilization for worker in reading.workers]
        busiest = max(utilizations, default=0.0)
        if law is not None:
            busiest = law.first_at(sum(utilizations) / len(utilizations))
        elif stay is not None and stay.load.mean_y > 0.0:
            busiest = sum(utilizations) / len(utilizations) * float(stay.moments.mean_x.max()) / stay.load.mean_y
        return self.predict(at_utilization=busiest, scaleout=reading.scaleout)

    def score(self) -> Score | NotReady:
        """How wrong the method is about the busiest third of the moments kept, learnt from the rest, beside their mean and the paper's sum of regressions.

        A few workers of a few moments are kept for that; who has the readings of all takes `score_extrapolation`.
        """
        found = score_stays(self.samples, self.idle_spread)
        return replace(found, mape=found.paper_mape) if isinstance(found, Score) and found.paper_mape is not None and self.method == "daedalus" else found

    def settled(self) -> JobCapacity:
        """The model after the readings that wait were judged and learnt: many questions are then cheap."""
        return _settled(self)

    def workers(self, *, at_utilization: float = 1.0) -> tuple[WorkerShare, ...]:
        """Every present worker when the busiest is at `at_utilization`; together they are the capacity measured here. Empty before there is one."""
        stay = self._settled()
        line = self._line(stay) if stay else None
        if stay is None or line is None:
            return ()
        law, seen = self._law(), stay.stay().workers
        if law is None:
            lines = [(worker, regression_line(worker.moments, idle_spread=self.idle_spread, overlap=stay.overlap)) for worker in seen]
            rates = {worker.worker: line.along(worker.proportion).value_at(at_utilization) if line else 0.0 for worker, line in lines}
            return tuple(WorkerShare(worker=each.worker, capacity_rows_per_s=rates[each.worker], proportion=each.proportion) for each in seen)
        whole = line.value_at(at_utilization)
        return tuple(
            WorkerShare(worker=each.worker, capacity_rows_per_s=whole * each.moments.mean_y / stay.load.mean_x, proportion=proportion)
            for each, proportion in zip(seen, law.at_full.tolist(), strict=True)
        )

    def skew(self, *, at_utilization: float = 1.0) -> float | NotReady:
        """Capacity if every worker could be as busy as the busiest, over capacity as it is: 1 is balanced, 1.25 a fifth of the workers idle."""
        stay = self._settled()
        line = self._line(stay) if stay else None
        if stay is None or line is None:
            return self._not_ready()
        law = self._law()
        if law is not None:
            return law.skew
        lines = [regression_line(moments, idle_spread=self.idle_spread, overlap=stay.overlap) for moments in stay.moments.each()]
        with_skew = line.value_at(at_utilization)
        return sum(each.value_at(at_utilization) for each in lines if each) / with_skew if with_skew > 0.0 else 1.0

    def _not_ready(self) -> NotReady:
        stay = self._settled()
        if stay is not None and round(stay.readings) >= MIN_READINGS:
            return NotReady(why="no worker processed anything in them")
        return NotReady(why=f"fewer than {MIN_READINGS} readings of all workers at work, outside of warm-up")

    def tells(self, reading: WorkersReading) -> bool:
        """Whether a reading is of all workers, of a time past warm-up, and of a job at work."""
        settled = reading.since_change_s is None or reading.since_change_s >= self.warm_up_s
        return settled and reading.is_whole and any(worker.utilization > 0.0 for worker in reading.workers)

    def _stayed(self, readings: tuple[WorkersReading, ...]) -> Self:
        """Add readings of the present workers, and judge and learn those with a whole window after them."""
        stay = self.stay or first_stay(readings[0])
        waiting = (*self.waiting, *readings)
        judged = len(waiting) - WINDOW + 1
        if judged > 0:
            off = leading_glitches(*as_arrays(waiting))
            believed = [reading for reading, glitch in zip(waiting[:judged], off, strict=True) if not glitch]
            stay = columns_of(stay).learned(believed, self.half_life_s, self.averaging_s).stay() if believed else stay
            waiting = waiting[judged:]
        return replace(self, stay=stay, waiting=waiting)

    def _settled(self) -> StayColumns | None:
        return _stay_here(self)

    def _here(self) -> Remembered | None:
        return _measured_here(self)

    def _law(self) -> WorkersLaw | None:
        """The law of every present worker; None for the paper's method."""
        return _law_here(self) if self.method == "utilization_law" else None

    def _line(self, stay: StayColumns) -> CapacityLine | None:
        line_of = job_regression_line if self.method == "daedalus" else job_law_line
        return line_of(stay, idle_spread=self.idle_spread)

    def _left(self) -> Self:
        """The present workers are gone: what they showed becomes the memory of their scale-out."""
        here = self._here()
        if here is None:
            return replace(self, stay=None, waiting=())
        before = next((each for each in self.remembered if each.scaleout == here.scaleout), None)
        joined = before.joined(here, self.half_life_s) if before else here
        others = [each for each in self.remembered if each.scaleout != here.scaleout]
        return replace(self, stay=None, waiting=(), remembered=tuple(sorted([*others, joined], key=lambda each: each.scaleout)))

    def _belief(self, memory: Remembered, here: Remembered | None, newest: Remembered, at_utilization: float, elsewhere: Belief) -> Belief:
        """The capacity believed of a scale-out that is remembered; `elsewhere` is what would be believed were it not."""
        fresh = math.exp2(-max(0.0, newest.at_s - memory.at_s) / self.half_life_s)
        if here is None or here.scaleout != memory.scaleout:
            before = memory.belief(at_utilization).doubted(REVISIT_SPREAD)
            return mixture(before, elsewhere, fresh)
        before = memory.measured(at_utilization).doubted(REVISIT_SPREAD)
        faded = Belief(value=before.value, variance=before.variance / max(fresh, 1e-9), freedom=before.freedom)
        return weighed(here.measured(at_utilization), faded).doubted(here.doubt(at_utilization))


@once(16)
def _settled(model: JobCapacity) -> JobCapacity:
    stay = model._settled()
    return replace(model, stay=None if stay is None else stay.stay(), waiting=())


@once(16)
def _stay_here(model: JobCapacity) -> StayColumns | None:
    """The present stay with its waiting readings, judged by what is known now."""
    if model.stay is None:
        return None
    stay = columns_of(model.stay)
    if not model.waiting:
        return stay
    off = glitches(*as_arrays(model.waiting))
    believed = [reading for reading, glitch in zip(model.waiting, off, strict=True) if not glitch]
    return stay.learned(believed, model.half_life_s, model.averaging_s)


@once(16)
def _law_here(model: JobCapacity) -> WorkersLaw | None:
    """The law of every present worker; once, as many readings are judged by it."""
    stay = model._settled()
    return workers_law(stay, idle_spread=model.idle_spread) if stay else None


@once(16)
def _measured_here(model: JobCapacity) -> Remembered | None:
    """What the present workers show, a line for each of them; once a turn, as every size is judged by it."""
    stay = model._settled()
    line = model._line(stay) if stay else None
    if stay is None or line is None:
        return None
    return Remembered(
        scaleout=stay.scaleout,
        at_s=stay.at_s,
        readings=stay.readings,
        line=line,
        highest_utilization=stay.highest_utilization,
        carried_rows_per_s=stay.load.mean_x,
    )
