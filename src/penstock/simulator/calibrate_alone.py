"""What batches of queries that share executors cost alone: their durations hold what they waited for each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from penstock.core.config import Config
from penstock.core.domain.reading import Reading
from penstock.simulator.calibrate_batches import whole_batches
from penstock.simulator.calibrated import Calibrated, CalibratedQuery, Settings
from penstock.simulator.from_history import Seen, of_query
from penstock.simulator.microbatch_settings import MicroBatchSettings
from penstock.simulator.own_error import first_engine, lately, run_again

NOISES = (1.0, 0.25)
"""Shares of the spread of durations that are tried for noise: the rest of it is who waited for whom."""
QUIET = 0.1
"""A batch in ten is taken to have found the executors free."""


def with_batches_alone(found: Calibrated, readings: Sequence[Reading], seen: Seen, config: Config) -> Calibrated:
    """With rows that cost what tasks took for them, and the overheads and the noise at which batches that run together again last most as they did.

    As it is where there is one query: its batches waited for nobody.
    """
    if len(found.queries) == 1:
        return found
    tried, recorded = lately(replace(found, queries=tuple(map(by_tasks, found.queries))), seen)

    def missed(queries: tuple[CalibratedQuery, ...]) -> float:
        choice = replace(tried, queries=queries)
        return off([reading for reading, _ in recorded], run_again(first_engine(choice, recorded, seed=0), choice, recorded, config))

    return replace(found, queries=min(choices(tried.queries, readings), key=missed))


def choices(queries: Sequence[CalibratedQuery], readings: Sequence[Reading]) -> Iterator[tuple[CalibratedQuery, ...]]:
    """What is tried: for all queries the overhead that durations tell, or that of their quickest batches; with all of the noise, or little of it."""
    told = [query.settings.overhead_s for query in queries if isinstance(query.settings, MicroBatchSettings)]
    quick = [quick_overhead_s(query, of_query(readings, query.name)) for query in queries]
    for overheads_s, share in product((told, quick), NOISES):
        yield tuple(priced(query, overhead_s, share) for query, overhead_s in zip(queries, overheads_s, strict=True))


def quick_overhead_s(query: CalibratedQuery, seen: Seen) -> float:
    """What batches that waited for nobody took beyond their rows."""
    settings = query.settings
    assert isinstance(settings, MicroBatchSettings)
    rows_only = replace(settings.law, overhead_s=0.0)
    beyond_s = [batch.duration_s - rows_only.duration_s(batch.rows, batch.scaleout) for *_, batch in whole_batches(seen)]
    return max(0.0, float(np.quantile(beyond_s, QUIET))) if beyond_s else settings.overhead_s


def priced(query: CalibratedQuery, overhead_s: float, noise_share: float) -> CalibratedQuery:
    """With this overhead, for dear and cheap rows so much more or less as before, and a share of the noise."""
    best = query.settings
    assert isinstance(best, MicroBatchSettings)
    before_s = best.overhead_s

    def other(settings: Settings) -> Settings:
        assert isinstance(settings, MicroBatchSettings)
        return replace(settings, overhead_s=max(0.0, settings.overhead_s - before_s + overhead_s), noise=noise_share * settings.noise)

    return query.each(other)


def by_tasks(query: CalibratedQuery) -> CalibratedQuery:
    """Without skew: to wait for the slots of another query looks like it. Rows may be dearer or cheaper by as large a share as before."""
    best = query.settings
    assert isinstance(best, MicroBatchSettings)

    def of_rows(settings: Settings) -> Settings:
        assert isinstance(settings, MicroBatchSettings)
        dearer = settings.row_s * settings.skew / (best.row_s * best.skew) if best.row_s > 0 else 1.0
        return replace(settings, row_s=dearer * best.row_s, skew=1.0)

    return query.each(of_rows)


def off(recorded: Sequence[Reading], again: Sequence[Reading]) -> float:
    """The mean distance of the durations of batches in both runs, in logarithms, where both tell."""
    apart = []
    for before, after in zip(recorded, again, strict=True):
        took_s = {query.name: query.batch.total_s for query in before.queries if query.batch is not None and query.batch.total_s > 0}
        apart += [
            abs(math.log(query.batch.total_s / took_s[query.name]))
            for query in after.queries
            if query.batch is not None and query.batch.total_s > 0 and query.name in took_s
        ]
    return sum(apart) / len(apart) if apart else math.inf
