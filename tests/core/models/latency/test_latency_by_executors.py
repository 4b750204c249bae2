import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import exp, inf

import numpy as np
import pytest
from conformance import World, conforming

from penstock.core.domain.profile import ProfileSeen
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.latency import profile_trial
from penstock.core.models.latency.latency_by_executors import MOST_ROWS, LatencyByExecutors
from penstock.core.models.latency.profile_fit import Forms, ProfileReading
from penstock.core.models.latency.profile_trial import trial
from penstock.stores.codec import decode, encode

STEP = 20_000.0


def capacity(executors: int) -> float:
    return 14_000.0 * float(executors**0.85)


def latency_s(executors: int, rate: float) -> float:
    u = rate / capacity(executors)
    return 0.4 + 0.1 * u / (1 - u) if u < 0.97 else 3.0 + 200.0 * max(0.0, u - 0.97)


def profile(rng: random.Random, executor_counts: tuple[int, ...] = (2, 5, 8, 12), noise: float = 0.05, label: bool = False) -> list[ProfileSeen]:
    """As Phoebe profiles: the rate rises in steps, and a copy that fell behind is stopped."""
    rows = []
    for executors in executor_counts:
        rate, valid = STEP / 2, True
        while valid:
            valid = rate < 0.97 * capacity(executors)
            measured_s = latency_s(executors, rate) * exp(rng.gauss(0.0, noise))
            rows.append(ProfileSeen(executors=executors, rate_rows_per_s=rate, latency_s=measured_s, valid=valid if label else None))
            rate += STEP
    return rows


def latency_at(model: LatencyByExecutors, executors: int, rate: float) -> Estimate | NotReady:
    answer = model.predict(executors, rate)
    return answer if isinstance(answer, NotReady) else answer.latency


# With the forms named: to choose among all takes twice as long and is tested below.
TestConformance = conforming(
    empty=LatencyByExecutors(reading=ProfileReading(latency_form="corrected", validity_form="knee")),
    world=lambda rng: World(seen=profile(rng, label=True), truth=latency_s(7, 36_000.0)),
    ask=lambda model: latency_at(model, 7, 36_000.0),
    wide="the bounds are those of one more measurement, and this truth has no noise",
)


def test_it_knows_which_rates_executors_carry() -> None:
    model = LatencyByExecutors().learn(profile(random.Random(1)))
    assert model.predict(8, 40_000.0).valid and not model.predict(2, 60_000.0).valid
    assert model.predict(2, 60_000.0).latency.high == inf


@pytest.mark.parametrize("latency_form", ["boosted", "queueing", "corrected"])
@pytest.mark.parametrize("validity_form", ["clusters", "knee"])
def test_latency_falls_with_the_executors_and_rises_with_the_rate_and_so_does_invalidity(latency_form: str, validity_form: str) -> None:
    rng = np.random.default_rng(5)
    places = zip(rng.integers(1, 12, 40).tolist(), rng.integers(1, 100, 40).astype(float).tolist(), strict=True)
    rows = [ProfileSeen(executors=s, rate_rows_per_s=r, latency_s=float(np.exp(rng.normal(0.0, 0.5)) * (40.0 if r > 9 * s else 1.0))) for s, r in places]
    reading = decode(ProfileReading, f'{{"latency_form":"{latency_form}","validity_form":"{validity_form}"}}')
    model = LatencyByExecutors(reading=reading).learn(rows)
    grid = {(s, r): model.predict(s, float(r)) for s in range(1, 14, 2) for r in range(0, 130, 26)}
    for (s, r), here in grid.items():
        for there in (grid.get((s + 2, r)), grid.get((s, r - 26))):
            assert there is None or (there.latency.value <= here.latency.value * (1 + 1e-9) and there.valid >= here.valid)


def test_the_unit_of_latency_changes_no_prediction_but_its_unit() -> None:
    rows, reading = profile(random.Random(2), label=True), ProfileReading(latency_form="boosted", validity_form="clusters")
    slower = [replace(row, latency_s=60.0 * row.latency_s) for row in rows]
    once, more = (LatencyByExecutors(reading=reading).learn(each).predict(7, 36_000.0) for each in (rows, slower))
    assert more.valid == once.valid and more.latency.value == pytest.approx(60.0 * once.latency.value, rel=1e-6)


def test_a_healthy_profile_condemns_nothing() -> None:
    rows = [row for row in profile(random.Random(3), executor_counts=(5, 8, 12, 16)) if row.rate_rows_per_s < 0.7 * capacity(row.executors)]
    model = LatencyByExecutors().learn(rows)
    assert all(model.predict(row.executors, row.rate_rows_per_s).valid for row in rows)
    t_max = model.t_max(8)
    assert isinstance(t_max, NotReady) and "kept up" in t_max.why


def test_t_max_is_the_first_rate_that_was_too_much_and_never_falls_with_more_executors() -> None:
    model = LatencyByExecutors().learn(profile(random.Random(4)))
    found = [model.t_max(executors) for executors in (2, 5, 8, 12)]
    for executors, estimate in zip((2, 5, 8, 12), found, strict=True):
        assert estimate.low < 0.97 * capacity(executors) <= estimate.value == estimate.low + STEP
    assert all(lower.value <= higher.value for lower, higher in pairwise(found))
    assert isinstance(model.t_max(6), NotReady)


def test_one_wrong_label_moves_no_other_knee() -> None:
    rows = profile(random.Random(5), label=True)
    wrong = [replace(row, latency_s=9.0, valid=False) if (row.executors, row.rate_rows_per_s) == (12, 30_000.0) else row for row in rows]
    assert LatencyByExecutors().learn(wrong).knees() == LatencyByExecutors().learn(rows).knees()


def test_a_known_limit_needs_no_clusters() -> None:
    rows = profile(random.Random(6), noise=0.0)
    strict = LatencyByExecutors(reading=ProfileReading(threshold_s=0.55)).learn(rows)
    t_max = strict.t_max(12)
    assert isinstance(t_max, Estimate) and latency_s(12, t_max.low) <= 0.55 < latency_s(12, t_max.value)


def test_given_validity_overrules_latency() -> None:
    rows = [ProfileSeen(executors=s, rate_rows_per_s=float(r), latency_s=1.0 + 0.01 * r, valid=r <= 10 * s) for s in (1, 2, 4) for r in range(5, 60, 5)]
    model = LatencyByExecutors().learn(rows)
    assert [model.predict(2, rate).valid for rate in (10.0, 20.0, 30.0)] == [True, True, False]
    assert model.t_max(2) == Estimate(value=25.0, low=20.0, high=25.0)


def test_the_score_is_at_most_half_the_constants_and_better_than_plain_boosting_and_validity_is_predicted() -> None:
    model = LatencyByExecutors().learn(profile(random.Random(7)))
    score = model.score()
    assert score.mape < score.constant_mape / 2 and score.mape < score.paper_mape
    assert score.held_out == sum(latency_s(row.executors, row.rate_rows_per_s) < 3.0 for row in model.observations)
    assert model.validity_accuracy() >= 0.85


def test_the_form_with_the_smallest_held_out_error_answers() -> None:
    model = LatencyByExecutors().learn(profile(random.Random(8)))
    forms = model.forms()
    held_out = trial(model.observations, model.reading)
    beside = [each for each in held_out.latency_s if each[1] == forms[1]]
    assert held_out.mape(forms) == min(map(held_out.mape, beside)) and len(beside) == 3
    assert held_out.accuracy(forms[1]) == max(held_out.accuracy(each) for each in held_out.found_valid)


def test_the_score_knows_nothing_of_the_rows_it_is_measured_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even through the choice of the forms: every choice is made without the rows that are then predicted."""
    rows, shown = profile(random.Random(9)), []

    def spying(some: Sequence[ProfileSeen], reading: ProfileReading) -> Forms:
        shown.append(frozenset(some))
        return "queueing", "knee"

    monkeypatch.setattr(profile_trial, "chosen", spying)
    profile_trial.left_out(rows, ProfileReading())
    held = [frozenset(rows) - some for some in shown]
    assert all(held) and frozenset().union(*held) == frozenset(rows) and sum(map(len, held)) == len(rows)


def test_the_last_stable_row_before_the_knee_is_predicted_from_those_of_other_executors() -> None:
    """Without it the middle between the rates that are left lies below it: no overload was seen there, and the others carry as much."""
    shares = (0.15, 0.33, 0.5, 0.67, 0.85, 1.01, 1.18, 1.35)
    latencies_s = {u: 0.5 * (1 + 0.8 * u / (1.03 - u)) if u < 1 else 15.0 + 60 * (u - 1) for u in shares}
    rows = [ProfileSeen(executors=s, rate_rows_per_s=5000.0 * s * u, latency_s=latencies_s[u], valid=u < 1) for s in (2, 4, 6, 8) for u in shares]
    held_out = next(row for row in rows if row.executors == 6 and row.rate_rows_per_s == 5000.0 * 6 * 0.85)
    for latency_form in ("queueing", "corrected"):
        reading = ProfileReading(latency_form=latency_form, validity_form="knee")
        answer = LatencyByExecutors(reading=reading).learn([row for row in rows if row is not held_out]).predict(6, held_out.rate_rows_per_s)
        assert answer.valid and answer.latency.value == pytest.approx(held_out.latency_s, rel=0.25)


def test_below_the_first_rate_that_was_too_much_latency_is_that_of_a_job_that_keeps_up_also_where_validity_is_doubted() -> None:
    reading = ProfileReading(latency_form="queueing", validity_form="knee")
    rows = [ProfileSeen(executors=1, rate_rows_per_s=float(r), latency_s=1.0 + r / 100 if r < 60 else 50.0, valid=r < 60) for r in (10, 20, 30, 40, 50, 100)]
    model = LatencyByExecutors(reading=reading).learn(rows)
    doubted, overloaded = model.predict(1, 90.0), model.predict(1, 100.0)
    assert not doubted.valid and doubted.latency.value < 5.0
    assert not overloaded.valid and overloaded.latency.value > 10.0


def test_nothing_valid_is_said_so() -> None:
    rows = [ProfileSeen(executors=s, rate_rows_per_s=float(r), latency_s=9.0, valid=False) for s in (1, 2) for r in (1, 2, 3)]
    answer = LatencyByExecutors().learn(rows).predict(1, 1.0)
    assert isinstance(answer, NotReady) and "kept up" in answer.why


def test_it_forgets_the_oldest_rows_and_keeps_its_way_of_reading() -> None:
    rows = [ProfileSeen(executors=1 + n % 3, rate_rows_per_s=float(n), latency_s=1.0) for n in range(MOST_ROWS + 5)]
    model = LatencyByExecutors(reading=ProfileReading(threshold_s=2.0)).learn(rows)
    assert model.observations == tuple(rows[5:])
    assert decode(LatencyByExecutors, encode(model)) == model


@pytest.mark.parametrize("wrong", [{"executors": 0}, {"rate_rows_per_s": -1.0}, {"latency_s": 0.0}, {"latency_s": inf}])
def test_a_row_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"it (must be|starts)"):
        ProfileSeen(**{"executors": 1, "rate_rows_per_s": 1.0, "latency_s": 1.0, **wrong})


def test_rates_that_hardly_differ_are_repetitions_and_are_held_out_together() -> None:
    rng = random.Random(4)
    nominal = [(s, rate) for s in (2, 5) for rate in (10_000.0, 20_000.0, 30_000.0)]
    rows = [ProfileSeen(executors=s, rate_rows_per_s=rate * rng.uniform(0.99, 1.01), latency_s=1.0) for s, rate in nominal for _ in range(3)]
    assert profile_trial.points(rows) == 6
    for held, others in profile_trial.parts(rows, most=5):
        left = {(row.executors, round(row.rate_rows_per_s, -4)) for row in others}
        assert not left & {(row.executors, round(row.rate_rows_per_s, -4)) for row, out in zip(rows, held, strict=True) if out}
    alike = LatencyByExecutors().learn([row for row in rows if row.executors == 2])
    assert alike.predict(2, 20_000.0) == NotReady(why="profiled at 3 of at least 4 different numbers of executors and rates")
