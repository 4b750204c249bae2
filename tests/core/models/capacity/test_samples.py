import random
from dataclasses import replace

import numpy as np
import pytest
from executor_moments import moment, moved

from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.capacity_model import CapacityModel, CapacitySeen
from penstock.core.models.capacity.executor_use import ExecutorUses
from penstock.core.models.capacity.job_capacity import JobCapacity
from penstock.core.models.capacity.samples import MOST_ALIKE, MOST_EXECUTORS, PARTS
from penstock.core.models.estimate import NotReady
from penstock.selftest.worlds.uneven_executors import rising, skewed, waving


def steady(utilization: float, times: int) -> list[ExecutorUses]:
    """One executor that processes 1,000 rows/s at full utilisation."""
    return [moment(0.0, (utilization, 1000.0 * utilization))] * times


def noisy(seed: int) -> list[ExecutorUses]:
    chance = random.Random(seed)
    return skewed(chance, utilization_noise=0.05).ramp(chance, rising(0.1, 0.6, 120))


def test_an_executor_without_noise_is_predicted_exactly_and_a_constant_is_not() -> None:
    score = JobCapacity().learn([reading for part in range(2, 16) for reading in steady(part / 20, 2)]).score()
    assert score.mape == pytest.approx(0.0, abs=1e-6) and score.paper_mape == pytest.approx(0.0, abs=1e-6)
    assert score.constant_mape > 0.3


def test_the_busiest_third_is_predicted_by_the_rest_with_less_error_than_the_papers_regression_where_utilisation_is_noisy() -> None:
    scores = [JobCapacity().learn(noisy(seed)).score() for seed in range(12)]
    law, paper, constant = np.mean([(score.mape, score.paper_mape, score.constant_mape) for score in scores], axis=0)
    assert law < paper < constant


def test_the_papers_method_reports_the_papers_error_as_its_own() -> None:
    score = JobCapacity(method="daedalus").learn(noisy(1)).score()
    assert score.mape == score.paper_mape == JobCapacity().learn(noisy(1)).score().paper_mape


def test_what_is_kept_is_bounded_and_the_same_in_any_batching() -> None:
    chance = random.Random(2)
    seen = skewed(chance, 3).ramp(chance, waving(0.05, 0.95, 1500))
    whole, pieces = JobCapacity().learn(seen), JobCapacity()
    for start in range(0, len(seen), 7):
        pieces = pieces.learn(seen[start : start + 7])
    (stay,) = whole.samples
    assert pieces.samples == whole.samples and len(stay.samples) <= (PARTS + 1) * MOST_ALIKE


def test_of_many_executors_a_few_are_kept_and_of_many_stays_the_last_with_samples() -> None:
    chance, model = random.Random(4), JobCapacity()
    for number, moments in enumerate((30, 30, 2, 30, 30)):
        seen = skewed(chance, 20).ramp(chance, rising(0.1, 0.6, moments))
        model = model.learn(moved(seen, later_s=0.0, prefix=f"{number}-"))
    assert [stay.names[0][0] for stay in model.samples] == ["1", "3", "4"]
    assert all(len(stay.names) == MOST_EXECUTORS == len(sample.utilization) for stay in model.samples for sample in stay.samples)


def test_a_steady_load_pushes_out_nothing_that_was_seen_at_others() -> None:
    model = JobCapacity().learn([*steady(0.3, 3), *steady(0.8, 1000)])
    assert [each.mean_utilization for each in model.samples[0].samples] == [0.3] * 3 + [0.8] * MOST_ALIKE


def test_readings_that_are_all_alike_have_no_error() -> None:
    answer = JobCapacity().learn(steady(0.5, 100)).score()
    assert isinstance(answer, NotReady) and "equally busy" in answer.why


def test_where_the_cost_of_batches_answers_its_error_is_reported() -> None:
    chance = random.Random(3)
    turns = [CapacitySeen(uses=reading) for reading in skewed(chance, 3).ramp(chance, rising(0.1, 0.6, 60))]
    batches = tuple(BatchMeasured(rows=rows, duration_s=0.5 + rows / 2000.0, executors=3) for rows in (500.0, 1000.0, 1500.0, 2000.0, 2500.0, 3000.0))
    without, model = CapacityModel().learn(turns), CapacityModel(by_batches=BatchCost(partitions=3)).learn([*turns[:-1], replace(turns[-1], batches=batches)])
    assert model.score() == model.by_batches.score() and without.score() == without.by_utilization.score()
