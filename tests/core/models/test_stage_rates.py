import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from conformance import Conformance, World, conforming

from penstock.core.domain.reading import QueryReading, StageReading
from penstock.core.domain.trigger import Trigger
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.stage_rates import StageRates

TRUE_RATES = (20_000.0, 5_000.0)
SELECTIVITIES = (1.0, 0.3)


def reading(batch_id: int | None, source_rows_per_s: float, stages: tuple[StageReading, ...], batches: int = 1) -> QueryReading:
    seen = {"batch_id": batch_id, "batches": batches, "throughput_rows_per_s": source_rows_per_s, "stages": stages}
    return QueryReading(name="q", state="RUNNING", trigger=Trigger(), rate_limit_rows_per_s=None, **seen)


def stage(position: int, rows_per_s: float, run_time_s_per_s: float, slots: int = 8) -> StageReading:
    work = {"rows_per_s": rows_per_s, "run_time_s_per_s": run_time_s_per_s, "busyness": run_time_s_per_s / slots}
    return StageReading(position=position, name=f"stage {position}", tasks=8.0, **work)


def seen(chance: random.Random, readings: int = 60) -> list[QueryReading]:
    def one(batch_id: int) -> QueryReading:
        source = chance.uniform(10_000.0, 60_000.0)
        rows = [source * selectivity * (1 + chance.gauss(0.0, 0.03)) for selectivity in SELECTIVITIES]
        stages = tuple(stage(i, rows[i], rows[i] / TRUE_RATES[i] * (1 + chance.gauss(0.0, 0.1))) for i in range(2))
        return reading(batch_id, source, stages)

    return [one(batch_id) for batch_id in range(readings)]


DRIFT = "there is room for rows that come to cost more, and here they do not"


def conforming_at(place: int, world: Callable[[random.Random], World], **case: Any) -> type[Conformance]:
    return conforming(**{"empty": StageRates(), "world": world, "ask": lambda model: model.predict(place), "score": lambda model: model.score(place), **case})


TestTrueRate = conforming_at(1, lambda chance: World(seen=seen(chance), truth=TRUE_RATES[1]), wide=DRIFT)
TestSelectivity = conforming_at(1, lambda chance: World(seen=seen(chance), truth=SELECTIVITIES[1]), ask=lambda model: model.predict_selectivity(1), wide=DRIFT)


def overlapping(chance: random.Random, true_rate: Callable[[int], float], readings: int = 40, window: int = 8) -> list[QueryReading]:
    """Windows of several batches, one batch apart; a batch has costs of its own."""
    rows = [chance.uniform(1_000.0, 3_000.0) for _ in range(readings + window)]
    run_s = [each / true_rate(batch) * (1 + chance.gauss(0.0, 0.3)) for batch, each in enumerate(rows)]
    windows = [slice(batch - window, batch) for batch in range(window, readings + window)]
    return [reading(each.stop, sum(rows[each]) / window, (stage(0, sum(rows[each]) / window, sum(run_s[each]) / window),), batches=window) for each in windows]


def drifting(chance: random.Random) -> World:
    end = 5_000.0 * chance.uniform(0.95, 1.05)
    return World(seen=overlapping(chance, lambda batch: 5_000.0 + (end - 5_000.0) * batch / 48), truth=end)


TestWindowsThatOverlap = conforming_at(0, lambda chance: World(seen=overlapping(chance, lambda _: 5_000.0), truth=5_000.0))
TestDrift = conforming_at(0, drifting)


def test_after_the_half_life_a_new_rate_counts_for_half() -> None:
    model = StageRates(half_life_readings=50.0).learn([reading(batch, 100.0, (stage(0, 100.0, 0.1),)) for batch in range(1000)])
    assert model.predict(0).value == pytest.approx(1_000.0)
    slower = model.learn([reading(1000 + batch, 100.0, (stage(0, 100.0, 0.2),)) for batch in range(50)])
    assert slower.predict(0).value == pytest.approx(100.0 / 0.15, rel=0.01)
    assert slower.learn([reading(2000 + batch, 100.0, (stage(0, 100.0, 0.2),)) for batch in range(500)]).predict(0).value == pytest.approx(500.0, rel=0.01)


def test_another_stage_at_a_position_is_another_plan_and_the_old_one_is_forgotten() -> None:
    old = seen(random.Random(1), readings=9)
    new = [reading(100 + batch, 100.0, (replace(stage(0, 100.0, 0.5), name="another"),)) for batch in range(4)]
    model = StageRates().learn([*old, *new])
    assert model.predict(0).value == pytest.approx(200.0)
    assert isinstance(model.predict(1), NotReady) and isinstance(StageRates().learn(old).predict(1), Estimate)


@pytest.mark.parametrize("slots", [1, 8, 100])
def test_the_rate_of_a_task_over_its_busyness_does_not_depend_on_the_slots(slots: int) -> None:
    readings = [reading(batch_id, 100.0 * load, (stage(0, 100.0 * load, 0.02 * load, slots),)) for batch_id, load in enumerate((1.0, 2.0, 3.0, 4.0))]
    of_a_task = [(each.stages[0].rows_per_s / slots) / (each.stages[0].busyness or 1.0) for each in readings]
    assert [StageRates().learn(readings).predict(0).value, *of_a_task] == pytest.approx([5000.0] * 5)


def test_a_reading_without_a_new_batch_is_not_learnt_twice() -> None:
    once = seen(random.Random(1), readings=6)
    twice = [each for each in once for _ in range(2)]
    assert StageRates().learn(twice) == StageRates().learn(once)


def test_windows_without_work_teach_nothing() -> None:
    idle = [reading(100 + index, 0.0, (stage(0, 0.0, 0.0), stage(1, 0.0, 0.0))) for index in range(5)]
    busy = seen(random.Random(1), readings=6)
    assert StageRates().learn([*busy, *idle]).predict(0) == StageRates().learn(busy).predict(0)
    assert isinstance(StageRates().learn(idle).predict(0), NotReady)


def test_an_unknown_stage_or_an_unknown_source_rate_is_not_ready() -> None:
    model = StageRates().learn([reading(index, 0.0, (stage(0, 10.0, 0.1),)) for index in range(4)])
    assert isinstance(model.predict(0), Estimate)
    assert isinstance(model.predict_selectivity(0), NotReady) and isinstance(model.predict(7), NotReady)


def test_it_says_how_wrong_it_was_about_the_next_reading_beside_the_mean_and_a_single_window() -> None:
    model = StageRates().learn(seen(random.Random(9)))
    score = model.score(1)
    assert score.held_out == 57 and score.mape < score.paper_mape < score.constant_mape
