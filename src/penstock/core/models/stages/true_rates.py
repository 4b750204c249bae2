"""What a task of a stage could do if it were busy all the time, and how many rows a stage gets for each row of the source."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from penstock.core.domain.reading import QueryReading, StageReading
from penstock.core.models.capacity.line import bounded
from penstock.core.models.capacity.moments import NOTHING, PairedMoments
from penstock.core.models.capacity.utilization_law import OVERLAP
from penstock.core.models.estimate import Estimate, NotReady

MIN_READINGS = 3
"""From three readings on, their scatter tells how good the ratio is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSeen:
    """One stage by its position in the batch: moments of y = its rows/s over x = its run time (s/s), and over x = rows/s of the source."""

    position: int
    name: str
    work: PairedMoments = NOTHING
    flow: PairedMoments = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRates:
    """Learns from readings of one query; `batch_id` is the newest batch learnt from, as a reading without a new one says the same again.

    The windows of neighbouring readings overlap: `overlap` of them count as one.

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

    overlap: float = OVERLAP
    batch_id: int | None = None
    stages: tuple[StageSeen, ...] = ()

    def learn(self, seen: Sequence[QueryReading]) -> Self:
        known = {stage.position: stage for stage in self.stages}
        batch_id = self.batch_id
        for reading in seen:
            if reading.batch_id is not None and reading.batch_id == batch_id:
                continue
            batch_id = batch_id if reading.batch_id is None else reading.batch_id
            for stage in reading.stages:
                before = known.get(stage.position, StageSeen(position=stage.position, name=stage.name))
                known[stage.position] = _learned(before, stage, reading.throughput_rows_per_s)
        return replace(self, batch_id=batch_id, stages=tuple(known[position] for position in sorted(known)))

    def predict(self, position: int) -> Estimate | NotReady:
        """o_i, rows/s of one task that is busy all the time (DS2; StreamBed sec. V): rate of a task over its busyness, which is rows per second of run time.

        With k slots, a task's rate is rows/k and its busyness run time/k; what each batch costs whatever its rows is in it, so it rises a little with load.
        """
        stage = self._stage(position)
        return self._ratio(stage.work if stage else None, position, "run time")

    def predict_selectivity(self, position: int) -> Estimate | NotReady:
        """r_i, rows into the stage for each row of the source (StreamBed sec. V)."""
        stage = self._stage(position)
        return self._ratio(stage.flow if stage else None, position, "source rows")

    def _stage(self, position: int) -> StageSeen | None:
        return next((stage for stage in self.stages if stage.position == position), None)

    def _ratio(self, moments: PairedMoments | None, position: int, what: str) -> Estimate | NotReady:
        if moments is None or moments.count < MIN_READINGS:
            return NotReady(why=f"fewer than {MIN_READINGS} readings with rows and {what} of stage {position}")
        return ratio_of_means(moments, overlap=self.overlap)


def ratio_of_means(moments: PairedMoments, *, overlap: float = OVERLAP) -> Estimate:
    """R = mean(y) / mean(x), with the variance of the residuals y - R*x over n * mean(x)^2 (the ratio estimator of sampling theory).

    >>> ratio_of_means(PairedMoments.of([1.0, 2.0, 3.0], [5.0, 10.0, 15.0]))
    Estimate(value=5.0, low=5.0, high=5.0)
    """
    ratio = moments.mean_y / moments.mean_x
    residual = max(0.0, moments.m2_y - 2.0 * ratio * moments.c_xy + ratio * ratio * moments.m2_x) / (moments.count - 1.0)
    return bounded(ratio, overlap * residual / (moments.count * moments.mean_x**2), moments.count / overlap - 1.0)


def _learned(before: StageSeen, stage: StageReading, source_rows_per_s: float | None) -> StageSeen:
    """A window in which the stage did not run tells nothing about its speed; one without source rows nothing about selectivity."""
    work, flow = before.work, before.flow
    if 0.0 < stage.run_time_s_per_s < math.inf:
        work = work.merged(PairedMoments.of([stage.run_time_s_per_s], [stage.rows_per_s]))
    if source_rows_per_s is not None and 0.0 < source_rows_per_s < math.inf:
        flow = flow.merged(PairedMoments.of([source_rows_per_s], [stage.rows_per_s]))
    return StageSeen(position=before.position, name=stage.name, work=work, flow=flow)
