"""The records of several queries as the record of their job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from penstock.core.shapes.chance import FloatArray
from penstock.simulator.ground_truth import Record, Seconds, Struck


def together(records: Sequence[Record]) -> Record:
    """Rows of all queries, each once for each query that it passes; a job has recovered when all of its queries have.

    Executors are shared, so every record has the same of them, and the same rescales.
    """
    if len(records) == 1:
        return records[0]
    job, parts = Record(records[0].start_s), [record.seconds() for record in records]
    finished = sum_of(parts, "finished_rows")
    waited = sum((part.finished_rows * part.latency_s for part in parts), np.zeros(len(finished)))
    job.append(
        Seconds(
            workers=parts[0].workers,
            arrived_rows=sum_of(parts, "arrived_rows"),
            finished_rows=finished,
            replayed_rows=sum_of(parts, "replayed_rows"),
            lag_rows=sum_of(parts, "lag_rows"),
            latency_s=np.divide(waited, finished, out=np.zeros(len(finished)), where=finished > 0),
            oldest_s=np.max([part.oldest_s for part in parts], axis=0),
            down=np.max([part.down for part in parts], axis=0),
        )
    )
    for record in records:
        job.deliver(*record.delivered)
    job.parts = tuple(records)
    job.rescales = list(records[0].rescales)
    job.struck = [last_of(each) for each in zip(*(record.struck for record in records), strict=True)]
    return job


def sum_of(parts: Sequence[Seconds], column: str) -> FloatArray:
    return np.asarray(np.sum([getattr(part, column) for part in parts], axis=0))


def last_of(struck: Sequence[Struck]) -> Struck:
    """The one of a fault's recoveries that ended last.

    >>> last_of([Struck(at_s=1.0, kind="crash", recovered_s=9.0), Struck(at_s=1.0, kind="crash", recovered_s=7.0)]).recovered_s
    9.0
    """
    ends_s = [each.recovered_s for each in struck]
    return replace(struck[0], recovered_s=None if None in ends_s else max(end_s for end_s in ends_s if end_s is not None))
