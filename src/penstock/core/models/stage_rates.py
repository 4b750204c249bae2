"""True processing rates and selectivities of the stages of a query (DS2, StreamBed)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from penstock.core.domain.reading import QueryReading, StageReading
from penstock.core.models.capacity.beliefs import MODEL_SPREAD
from penstock.core.models.estimate import Estimate, NotReady, student_estimate
from penstock.core.models.moments import NOTHING, PairedMoments
from penstock.core.models.score import PrequentialErrors, Score

MIN_READINGS = 3
"""Readings needed for a ratio and its scatter."""

HALF_LIFE_READINGS = 240.0
"""Newer readings after which one weighs half (an hour of readings every 15 s): the cost of a row changes with state and data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSeen:
    """One stage by its position in the batch: moments of y = its rows/s over x = its run time (s/s), and over x = rows/s of the source.

    `readings` is the number of readings and `independent` how many independent ones they are worth, older ones weighing less.
    """

    position: int
    name: str
    readings: float = 0.0
    independent: float = 0.0
    work: PairedMoments = NOTHING
    flow: PairedMoments = NOTHING
    newest: float | None = None
    """Rows per second of run time in the newest reading: the true rate of DS2, taken from one window."""
    errors: PrequentialErrors = field(default_factory=PrequentialErrors)
    """Errors of the rows/s predicted from run times."""

    @property
    def overlap(self) -> float:
        """Readings that are worth one independent one."""
        return self.readings / self.independent if self.independent > 0.0 else 1.0

    def learned(self, stage: StageReading, source_rows_per_s: float | None, *, news: float, kept: float) -> Self:
        """Add a reading, of which the share `news` is new; earlier ones keep the share `kept` of their weight.

        A window in which the stage did not run has no rate; one without source rows has no selectivity.
        """
        work, flow, newest, errors = self.work, self.flow, self.newest, self.errors
        if 0.0 < stage.run_time_s_per_s < math.inf:
            errors, newest = self._judged(stage), stage.rows_per_s / stage.run_time_s_per_s
            work = work.decayed(kept).merged(PairedMoments.of([stage.run_time_s_per_s], [stage.rows_per_s]))
        if source_rows_per_s is not None and 0.0 < source_rows_per_s < math.inf:
            flow = flow.decayed(kept).merged(PairedMoments.of([source_rows_per_s], [stage.rows_per_s]))
        readings, independent = self.readings * kept + 1.0, self.independent * kept + news
        return replace(self, readings=readings, independent=independent, work=work, flow=flow, newest=newest, errors=errors)

    def _judged(self, stage: StageReading) -> PrequentialErrors:
        """Add the errors of the rows/s predicted by the ratio so far, and by the newest one."""
        if stage.rows_per_s <= 0.0:
            return self.errors
        ratio = self.work.mean_y / self.work.mean_x if round(self.work.count) >= MIN_READINGS else None
        predicted, newest = (None if each is None else each * stage.run_time_s_per_s for each in (ratio, self.newest))
        return self.errors.with_one(stage.rows_per_s, predicted, newest)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRates:
    """Learns from readings of one query; `batch_id` is the newest batch learnt from, as a reading without a new one repeats the last.

    The windows of neighbouring readings overlap: a reading counts by the share of its batches that are newer than the reading before.
    A stage with another name at a position means another plan: what was learnt of the old one is dropped.

    >>> from penstock.core.domain.trigger import Trigger
    >>> def reading(batch_id: int, load: float) -> QueryReading:
    ...     parse = StageReading(position=0, name="parse", tasks=4.0, rows_per_s=1000.0 * load, run_time_s_per_s=load, busyness=load / 4)
    ...     count = StageReading(position=1, name="count", tasks=8.0, rows_per_s=300.0 * load, run_time_s_per_s=0.1 * load, busyness=load / 40)
    ...     return QueryReading(name="q", state="RUNNING", trigger=Trigger(), rate_limit_rows_per_s=None, batch_id=batch_id,
    ...                         throughput_rows_per_s=1000.0 * load, stages=(parse, count))
    >>> model = StageRates().learn([reading(batch_id, 0.5 + 0.1 * batch_id) for batch_id in range(5)])
    >>> round(model.predict(0).value, 6), round(model.predict(1).value, 6), round(model.predict_selectivity(1).value, 6)
    (1000.0, 3000.0, 0.3)
    """

    half_life_readings: float = HALF_LIFE_READINGS
    batch_id: int | None = None
    stages: tuple[StageSeen, ...] = ()

    def learn(self, seen: Sequence[QueryReading]) -> Self:
        known = {stage.position: stage for stage in self.stages}
        batch_id, kept = self.batch_id, math.exp2(-1.0 / self.half_life_readings)
        for reading in seen:
            if reading.batch_id is not None and reading.batch_id == batch_id:
                continue
            if any(stage.position in known and known[stage.position].name != stage.name for stage in reading.stages):
                known = {}
            news = share_of_news(reading, batch_id)
            batch_id = batch_id if reading.batch_id is None else reading.batch_id
            for stage in reading.stages:
                before = known.get(stage.position, StageSeen(position=stage.position, name=stage.name))
                known[stage.position] = before.learned(stage, reading.throughput_rows_per_s, news=news, kept=kept)
        return replace(self, batch_id=batch_id, stages=tuple(known[position] for position in sorted(known)))

    def predict(self, position: int) -> Estimate | NotReady:
        """Predict o_i, rows/s of one task that is busy all the time (DS2; StreamBed sec. V): rate of a task over its busyness, rows per second of run time.

        With k slots, a task's rate is rows/k and its busyness run time/k; the fixed cost of a batch is included, so it rises a little with load.
        """
        stage = self._stage(position)
        return _ratio(stage.work, stage.overlap, f"rows and run time of stage {position}")

    def predict_selectivity(self, position: int) -> Estimate | NotReady:
        """Predict r_i, rows into the stage for each row of the source (StreamBed sec. V)."""
        stage = self._stage(position)
        return _ratio(stage.flow, stage.overlap, f"rows of stage {position} and of the source")

    def score(self, position: int) -> Score | NotReady:
        """Return the errors of predicting the rows/s of the next reading from its run time, compared with their mean and the ratio of one window (DS2)."""
        return self._stage(position).errors.score()

    def _stage(self, position: int) -> StageSeen:
        return next((stage for stage in self.stages if stage.position == position), StageSeen(position=position, name=""))


def share_of_news(reading: QueryReading, before: int | None) -> float:
    """Return the share of a reading's window that was not in the reading before, whose newest batch was `before`.

    >>> from penstock.core.domain.trigger import Trigger
    >>> reading = QueryReading(name="q", state="RUNNING", trigger=Trigger(), rate_limit_rows_per_s=None, batch_id=42, batches=6)
    >>> share_of_news(reading, 40), share_of_news(reading, None)
    (0.3333333333333333, 1.0)
    """
    if reading.batch_id is None or before is None or reading.batch_id < before:
        return 1.0
    return min(1.0, (reading.batch_id - before) / max(1, reading.batches))


def ratio_of_means(moments: PairedMoments, *, overlap: float = 1.0) -> Estimate:
    """Return R = mean(y) / mean(x), with the variance of the residuals y - R*x over n * mean(x)^2 (the ratio estimator of sampling theory).

    `MODEL_SPREAD` is added for drift of the cost of a row, which scatter does not show.

    >>> estimate = ratio_of_means(PairedMoments.of([1.0, 2.0, 3.0], [5.0, 10.0, 15.0]))
    >>> estimate.value, 4.7 < estimate.low < 5.0 < estimate.high < 5.3
    (5.0, True)
    """
    ratio = moments.mean_y / moments.mean_x
    residual = max(0.0, moments.m2_y - 2.0 * ratio * moments.c_xy + ratio * ratio * moments.m2_x) / (moments.count - 1.0)
    scatter = overlap * residual / (moments.count * moments.mean_x**2)
    return student_estimate(ratio, scatter + (MODEL_SPREAD * ratio) ** 2, moments.count / overlap - 1.0)


def _ratio(moments: PairedMoments, overlap: float, what: str) -> Estimate | NotReady:
    if round(moments.count) < MIN_READINGS:
        return NotReady(why=f"fewer than {MIN_READINGS} readings with {what}")
    return ratio_of_means(moments, overlap=overlap)
