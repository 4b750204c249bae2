from __future__ import annotations

import random

import pytest

from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.capacity.choice import MICRO_BATCH, UTILIZATION, Pair, choose_capacity_model
from penstock.core.models.estimate import Estimate, NotReady

TRUTH = [100.0 + 10 * each for each in range(40)]


def off_by(noise: float, bias: float = 0.0, seed: int = 0) -> list[Pair]:
    chance = random.Random(seed)
    return [(each * (1 + bias + chance.gauss(0, noise)), each) for each in TRUTH]


def test_the_micro_batch_cost_wins_where_it_errs_less_and_the_numbers_are_in_the_words() -> None:
    choice = choose_capacity_model(off_by(0.02), off_by(0.02, bias=0.2, seed=1))
    assert choice.model == MICRO_BATCH and choice.compared == 40
    assert choice.micro_batch_error is not None and choice.utilization_error is not None and choice.micro_batch_error < choice.utilization_error
    assert f"{100 * choice.micro_batch_error:.1f} %" in choice.why and "too high" in choice.why


def test_the_regression_stays_where_it_errs_less() -> None:
    choice = choose_capacity_model(off_by(0.02, bias=-0.2), off_by(0.02, seed=1))
    assert choice.model == UTILIZATION and "too low" in choice.why


def test_a_difference_no_larger_than_chance_changes_nothing() -> None:
    noisy = off_by(0.05)
    closer: list[Pair] = [((guess or 0.0) * (1.001 if number % 2 else 0.999), actual) for number, (guess, actual) in enumerate(noisy)]
    assert {choose_capacity_model(noisy, closer).model, choose_capacity_model(closer, noisy).model} == {UTILIZATION}


def test_unbiased_noise_is_not_called_high_or_low() -> None:
    assert "too" not in choose_capacity_model(off_by(0.01), off_by(0.2, seed=1)).why


def test_batches_of_one_size_leave_the_regression_and_the_reason_is_passed_on() -> None:
    same = BatchCost(partitions=4).learn([BatchMeasured(rows=100, duration_s=1.0, scaleout=1)] * 9).capacity(2, 10.0)
    assert isinstance(same, NotReady)
    choice = choose_capacity_model([], [], unidentified=same)
    assert choice.model == UTILIZATION and "batches of one size only" in choice.why


def test_only_readings_that_both_predicted_are_compared() -> None:
    late: list[Pair] = [(None if number < 30 else guess, actual) for number, (guess, actual) in enumerate(off_by(0.01))]
    assert choose_capacity_model(late, off_by(0.2, seed=1)).compared == 10


def test_with_too_little_to_compare_the_model_that_is_ready_is_taken() -> None:
    never: list[Pair] = [(None, each) for each in TRUTH]
    assert choose_capacity_model(off_by(0.1), never).model == MICRO_BATCH
    assert choose_capacity_model(never, off_by(0.1)).model == UTILIZATION
    assert choose_capacity_model([], []).model == UTILIZATION


def test_errors_on_different_readings_are_refused() -> None:
    with pytest.raises(ValueError, match="different readings"):
        choose_capacity_model(off_by(0.1), off_by(0.1)[1:])
    with pytest.raises(ValueError, match="different readings"):
        choose_capacity_model(off_by(0.1), [(guess, 2 * actual) for guess, actual in off_by(0.1)])


def test_a_regression_that_takes_the_overhead_for_work_loses_to_the_batch_cost() -> None:
    law, chance = BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1), random.Random(3)
    cost, batch, utilization = BatchCost(partitions=1), list[Pair](), list[Pair]()
    for _ in range(40):
        rows = chance.uniform(200, 3000)
        duration_s = law.duration_s(rows, 1) * chance.lognormvariate(0, 0.03)
        guess = cost.predict(rows, 1)
        batch.append((guess.value if isinstance(guess, Estimate) else None, duration_s))
        utilization.append((rows * 0.0018, duration_s))
        cost = cost.learn([BatchMeasured(rows=rows, duration_s=duration_s, scaleout=1)])
    assert choose_capacity_model(batch, utilization).model == MICRO_BATCH
