"""The error of each model of a job on held-out data, beside those of a constant and of the paper's method."""

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.core.knowledge.learnt import Learnt
from penstock.core.models.estimate import NotReady
from penstock.core.models.score import Score
from penstock.core.models.surrogate.crossvalidation import LeaveOut


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelScore:
    """The name of a model, and its errors; `paper` names the paper's method."""

    model: str
    paper: str
    score: Score | NotReady


def model_scores(learnt: Learnt) -> tuple[ModelScore, ...]:
    """Return the score of every model that has data; slow where forms are chosen again without the held-out data, so computed only on request."""
    return (*_of_the_job(learnt), *_by_query(learnt), *_of_failures(learnt))


def _of_the_job(learnt: Learnt) -> Iterator[ModelScore]:
    if learnt.load.series.sums:
        yield ModelScore(model="load forecast", paper="AutoARIMA alone", score=learnt.load.score())
    if learnt.capacity.by_utilization.stay is not None:
        yield ModelScore(model="capacity from utilisation", paper="sum of regressions", score=learnt.capacity.by_utilization.score())
    if learnt.capacity.by_batches is not None:
        yield ModelScore(model="cost of micro-batches", paper="line without waves", score=learnt.capacity.by_batches.score())
        yield ModelScore(model="duration of the next batch", paper="none", score=learnt.capacity.by_batches.next_durations.score())
        yield ModelScore(model="saturated throughput by the next batch", paper="none", score=learnt.capacity.by_batches.next_saturated.score())
    if learnt.t_max.seen:
        yield ModelScore(model="capacity over executors", paper="line", score=learnt.t_max.score())
    if learnt.profile.observations:
        yield ModelScore(model="latency of the profile", paper="boosting alone", score=learnt.profile.score())
        yield ModelScore(model="pace beside the profile", paper="profile as it is", score=learnt.pace.score())


def _by_query(learnt: Learnt) -> Iterator[ModelScore]:
    for query, latency in sorted(learnt.batches.items()):
        yield ModelScore(model=f"latency of {query}", paper="plane", score=latency.score())
    for query, rates in sorted(learnt.stages.items()):
        for stage in rates.stages:
            yield ModelScore(model=f"stage {stage.position} of {query}", paper="last window", score=rates.score(stage.position))


def _of_failures(learnt: Learnt) -> Iterator[ModelScore]:
    for kind in learnt.downtimes.learnt:
        yield ModelScore(model=f"downtime of {kind.replace('_', ' ')}", paper="fixed", score=learnt.downtimes.score(kind))
    for kind, recoveries in learnt.recoveries.items():
        yield ModelScore(model=f"recovery from {kind.replace('_', ' ')} (M_R)", paper="plane", score=recoveries.score(LeaveOut.ONE))
