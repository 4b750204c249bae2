import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from conformance import Conformance, World, conforming
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.models.capacity.capacity_by_executors import CapacityByExecutors, CapacityMeasured
from penstock.core.models.capacity.capacity_curve import Form, Point, fitted, left_out_error
from penstock.core.models.estimate import NotReady
from penstock.core.models.score import mape

FORMS: tuple[Form, Form] = ("line", "power")
EXECUTOR_COUNTS = (2, 5, 8, 11, 14, 17, 20, 24)


def line(executors: float) -> float:
    return 15_000.0 + 8_000.0 * executors


def power(executors: float) -> float:
    return 14_000.0 * math.pow(executors, 0.8)


def measured(
    truth: Callable[[float], float], executor_counts: tuple[int, ...] = EXECUTOR_COUNTS, chance: random.Random | None = None, noise: float = 0.04
) -> list[CapacityMeasured]:
    noisy = [truth(executors) * (1.0 + (chance.gauss(0.0, noise) if chance else 0.0)) for executors in executor_counts]
    return [CapacityMeasured(executors=executors, throughput_rows_per_s=rate) for executors, rate in zip(executor_counts, noisy, strict=True)]


def saturating(executors: float) -> float:
    return 60_000.0 * (1.0 - math.exp(-executors / 8.0))


def universal(executors: float) -> float:
    """Gunther's universal scalability law: contention and coherence."""
    return 5000.0 * executors / (1.0 + 0.05 * (executors - 1.0) + 0.001 * executors * (executors - 1.0))


def flat(executors: float) -> float:
    return min(5000.0 * executors, 20_000.0)


def conforming_at(asked: int, truth: Callable[[float], float], executor_counts: tuple[int, ...], noise: float = 0.04, **case: Any) -> type[Conformance]:
    def world(chance: random.Random) -> World:
        return World(seen=measured(truth, executor_counts, chance, noise), truth=truth(asked))

    return conforming(empty=CapacityByExecutors(), world=world, ask=lambda model: model.predict(asked), **case)


PRECISE = "the bounds are those of one more measurement, and this truth has no noise"
ONE = "one measurement says nothing of the form, and this one is nearly proportional"
HIDDEN = "a slope that noise could hide in the tie is in the bounds, and this truth has none"
TestConformanceOnALine = conforming_at(12, line, EXECUTOR_COUNTS, wide=PRECISE)
TestConformanceOnAPowerLawExtrapolated = conforming_at(24, power, (2, 4, 6, 8, 8, 10))
TestConformanceOfASinglePoint = conforming_at(8, power, (4,), taught=lambda model, seen: model.learn(measured(power)), wide=ONE)
TestConformanceWhereCapacityBends = conforming_at(12, saturating, (1, 2, 4, 6, 8), noise=0.02)
TestConformanceBeyondAPlateau = conforming_at(16, flat, (1, 2, 4, 6, 8), noise=0.03, wide=HIDDEN)


@pytest.mark.parametrize("truth", [saturating, universal])
def test_lower_bounds_far_beyond_what_was_measured_know_of_an_evident_bend(truth: Callable[[float], float]) -> None:
    answers = [CapacityByExecutors().learn(measured(truth, (1, 2, 3, 4, 6, 8), random.Random(seed), noise=0.02)).predict(24) for seed in range(40)]
    assert sum(each.low <= truth(24) <= each.high for each in answers) >= 26


@pytest.mark.parametrize("truth", [line, power])
def test_without_a_bend_bounds_are_no_wider_downwards_than_upwards(truth: Callable[[float], float]) -> None:
    answers = [CapacityByExecutors().learn(measured(truth, (1, 2, 3, 4, 6, 8), random.Random(seed), noise=0.02)).predict(24) for seed in range(40)]
    wider = sorted(math.log(each.value / each.low) - math.log(each.high / each.value) for each in answers)
    assert wider[20] < 0.03


def test_predictions_on_a_plateau_are_its_level_and_below_it_never_more() -> None:
    model = CapacityByExecutors().learn(measured(flat, (1, 2, 3, 4, 6, 8, 12, 16), random.Random(3), noise=0.02))
    assert model.plateau is not None and model.plateau.first == 4
    level = model.plateau.rows_per_s
    assert level == pytest.approx(20_000.0, rel=0.03)
    assert all(model.predict(executors).value == level for executors in (4, 5, 12, 16, 24, 100))
    assert all(model.predict(executors).value <= level for executors in (1, 2, 3))
    assert model.score().mape < 0.06 < model.score().constant_mape


@pytest.mark.parametrize(("seen", "executor_counts"), [(measured(flat, (1, 2, 4, 8)), (8, 16, 64)), (measured(power, chance=random.Random(1)), (24, 48, 96))])
def test_bounds_widen_away_from_what_was_measured_also_on_a_plateau(seen: list[CapacityMeasured], executor_counts: tuple[int, ...]) -> None:
    model = CapacityByExecutors().learn(seen)
    widths = [model.predict(executors).high / model.predict(executors).low for executors in executor_counts]
    assert widths == sorted(widths) and widths[0] < widths[2]


@pytest.mark.parametrize("truth", [line, power])
def test_neighbours_that_grow_within_noise_are_no_plateau(truth: Callable[[float], float]) -> None:
    found = [CapacityByExecutors().learn(measured(truth, (2, 4, 8, 10, 11, 12), random.Random(seed), noise=0.03)).plateau for seed in range(40)]
    assert sum(each is not None for each in found) <= 2


def test_where_nothing_grows_there_is_no_plateau_and_the_curve_is_flat() -> None:
    model = CapacityByExecutors().learn(measured(lambda _: 20_000.0, (2, 4, 8)))
    assert model.plateau is None and model.predict(24).value == pytest.approx(20_000.0)


def test_measurements_that_repeat_exactly_have_an_answer() -> None:
    for truth in (line, power, flat, saturating):
        model = CapacityByExecutors().learn([each for _ in range(3) for each in measured(truth, (1, 2, 4, 8))])
        assert model.predict(8).low <= model.predict(8).value <= model.predict(8).high


@pytest.mark.parametrize(
    ("truth", "form", "parameters"), [(line, "line", {"intercept": 15_000.0, "slope": 8_000.0}), (power, "power", {"factor": 14_000.0, "exponent": 0.8})]
)
def test_the_form_and_its_parameters_are_found_and_exact_without_noise(truth: Callable[[float], float], form: str, parameters: dict[str, float]) -> None:
    model = CapacityByExecutors().learn(measured(truth))
    assert model.form == form and model.parameters == pytest.approx(parameters)
    assert [model.predict(executors).value for executors in (1, 12, 30)] == pytest.approx([truth(1), truth(12), truth(30)])
    assert CapacityByExecutors().form is None and CapacityByExecutors().parameters == {}


def test_one_point_means_proportion_and_two_a_curve_through_both() -> None:
    one = CapacityByExecutors().learn(measured(power, (4,)))
    assert one.form == "proportional"
    assert one.predict(8).value == pytest.approx(2 * power(4))
    assert one.predict(16).high / one.predict(16).low > one.predict(4).high / one.predict(4).low > 1.05
    two = CapacityByExecutors().learn(measured(power, (4, 8)))
    assert two.predict(16).value == pytest.approx(power(16))
    assert isinstance(two.score(), NotReady)


def test_repetitions_are_left_out_together() -> None:
    repeated, once = (CapacityByExecutors().learn(measured(line) * times) for times in (2, 1))
    assert repeated.score() == once.score() and repeated.score().held_out == len(EXECUTOR_COUNTS)


def test_where_a_line_without_a_point_falls_below_zero_there_the_score_is_that_of_the_power_law() -> None:
    rates = {4: 500.0, 6: 1000.0, 9: 4000.0, 10: 5000.0, 12: 7000.0}
    seen = [CapacityMeasured(executors=s, throughput_rows_per_s=rate) for s, rate in rates.items()]
    left_out = [CapacityByExecutors().learn([each for each in seen if each.executors != s]).predict(s).value for s in rates]
    assert CapacityByExecutors().learn(seen).score().mape == pytest.approx(mape(left_out, list(rates.values()))) and left_out[0] > 0


def test_the_score_is_that_of_the_form_beside_that_of_a_constant_and_of_the_line() -> None:
    score, three = CapacityByExecutors().learn(measured(power)).score(), CapacityByExecutors().learn(measured(line, (2, 4, 8)))
    assert score.mape < 1e-9 < score.paper_mape < score.constant_mape
    assert three.form == "line" and three.score().mape < 1e-9


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 40), st.floats(1.0, 1e6)), min_size=1, max_size=12), st.integers(1, 200))
def test_whatever_was_measured_the_answer_is_a_number_between_its_bounds(pairs: list[tuple[int, float]], executors: int) -> None:
    model = CapacityByExecutors().learn([CapacityMeasured(executors=s, throughput_rows_per_s=rate) for s, rate in pairs])
    estimate = model.predict(executors)
    assert 0.0 <= estimate.low <= estimate.value <= estimate.high and math.isfinite(estimate.value)


def test_leaving_one_out_is_a_fit_to_the_others() -> None:
    points = [Point(executors=s, throughput_rows_per_s=power(s) * (1.1 if s == 8 else 1.0), measurements=1.0 + s % 3) for s in EXECUTOR_COUNTS]
    for form in FORMS:
        refitted = [fitted(form, [other for other in points if other is not point]).value_at(point.executors) for point in points]
        assert left_out_error(form, points) == pytest.approx(mape(refitted, [point.throughput_rows_per_s for point in points]))


def test_very_many_points_are_left_out_in_parts() -> None:
    score = CapacityByExecutors().learn(measured(power, tuple(range(1, 2001)), random.Random(2))).score()
    assert score.held_out == 2000 and score.mape == pytest.approx(0.032, abs=0.004)


def test_where_a_line_falls_below_zero_the_power_law_answers() -> None:
    model = CapacityByExecutors().learn(measured(lambda executors: 1000.0 * executors - 5000.0, (6, 8, 10, 12)))
    assert model.form == "line"
    assert 0.0 < model.predict(2).low < model.predict(2).value < model.predict(6).value


@pytest.mark.parametrize(("executors", "rate"), [(0, 1.0), (1, 0.0), (1, -1.0), (1, math.nan), (1, math.inf)])
def test_a_capacity_that_cannot_be_is_refused(executors: int, rate: float) -> None:
    with pytest.raises(ValueError, match="a capacity of"):
        CapacityMeasured(executors=executors, throughput_rows_per_s=rate)


def waves(executors: float) -> float:
    return 120_000.0 / math.ceil(24 / (2 * executors))


def test_equal_capacities_stay_together_under_the_noise_that_their_repetitions_show() -> None:
    def groups(seed: int) -> tuple[tuple[int, ...], ...]:
        chance = random.Random(seed)
        return CapacityByExecutors().learn([each for _ in range(3) for each in measured(waves, tuple(range(3, 13)), chance, noise=0.03)]).ties()

    found = [groups(seed) for seed in range(40)]
    assert sum((6, 7, 8, 9, 10, 11) in each for each in found) >= 32
    assert all((12,) in each and (3,) in each for each in found), "capacities that differ by a third are no tie"


def test_executors_with_the_same_number_of_waves_are_a_tie() -> None:
    model = CapacityByExecutors().learn(measured(waves, tuple(range(3, 13)), random.Random(4), noise=0.005))
    assert model.ties() == ((3,), (4, 5), (6, 7, 8, 9, 10, 11), (12,))


def test_repetitions_set_the_noise_that_a_tie_may_have() -> None:
    rates = {2: (1000.0, 1002.0, 998.0), 3: (1020.0, 1018.0, 1022.0)}
    precise = CapacityByExecutors().learn([CapacityMeasured(executors=s, throughput_rows_per_s=rate) for s, each in rates.items() for rate in each])
    assert precise.ties() == ((2,), (3,))
    assert CapacityByExecutors().learn([CapacityMeasured(executors=s, throughput_rows_per_s=each[0]) for s, each in rates.items()]).ties() == ((2, 3),)
