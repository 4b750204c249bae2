"""The model that foretold the job better is chosen, and the reason is said."""

from __future__ import annotations

import random

from penstock.core.models.capacity.choice import FEWEST_COMPARED, MICRO_BATCH, UTILIZATION, Foretold, choose_capacity_model

TRUTH = [100.0 + 10 * each for each in range(40)]


def off_by(noise: float, bias: float = 0.0, seed: int = 0) -> list[float]:
    chance = random.Random(seed)
    return [each * (1 + bias + chance.gauss(0, noise)) for each in TRUTH]


def foretold(by_batches: list[float], by_utilization: list[float]) -> list[Foretold]:
    return [
        Foretold(came_rows_per_s=came, by_batches_rows_per_s=batches, by_utilization_rows_per_s=utilization)
        for came, batches, utilization in zip(TRUTH, by_batches, by_utilization, strict=False)
    ]


def test_the_micro_batch_cost_wins_where_it_errs_less_and_the_numbers_are_in_the_words() -> None:
    choice = choose_capacity_model(foretold(off_by(0.02), off_by(0.02, bias=0.2, seed=1)))
    assert choice.model == MICRO_BATCH and choice.compared == 40
    assert choice.by_batches_error is not None and choice.by_utilization_error is not None and choice.by_batches_error < choice.by_utilization_error
    assert f"{100 * choice.by_batches_error:.1f} %" in choice.why and "too high" in choice.why


def test_the_regression_stays_where_it_errs_less() -> None:
    choice = choose_capacity_model(foretold(off_by(0.02, bias=-0.2), off_by(0.02, seed=1)))
    assert choice.model == UTILIZATION and "too low" in choice.why


def test_a_difference_no_larger_than_chance_changes_nothing() -> None:
    noisy = off_by(0.05)
    closer = [guess * (1.001 if number % 2 else 0.999) for number, guess in enumerate(noisy)]
    assert {choose_capacity_model(foretold(noisy, closer)).model, choose_capacity_model(foretold(closer, noisy)).model} == {UTILIZATION}


def test_unbiased_noise_is_not_called_high_or_low() -> None:
    assert "too" not in choose_capacity_model(foretold(off_by(0.01), off_by(0.2, seed=1))).why


def test_a_few_moments_decide_nothing_and_it_says_so() -> None:
    few = foretold(off_by(0.0), off_by(0.0, bias=0.5))[: FEWEST_COMPARED - 1]
    choice = choose_capacity_model(few)
    assert choice.model == UTILIZATION and choice.compared == 0 and choice.by_batches_error is None
    assert choice.why == f"{FEWEST_COMPARED - 1} moments that both models foretold, {FEWEST_COMPARED} are needed to compare them"
