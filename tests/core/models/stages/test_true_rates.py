"""True rates of tasks and selectivities of stages."""

from __future__ import annotations

import random

import pytest
from conformance import Case, Conformance, World

from penstock.core.domain.reading import QueryReading, StageReading
from penstock.core.domain.trigger import Trigger
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.stages.true_rates import StageRates

TRUE_RATES = (20_000.0, 5_000.0)
SELECTIVITIES = (1.0, 0.3)


def reading(batch_id: int | None, source_rows_per_s: float, stages: tuple[StageReading, ...]) -> QueryReading:
    return QueryReading(
        name="q", state="RUNNING", trigger=Trigger(), rate_limit_rows_per_s=None, batch_id=batch_id, throughput_rows_per_s=source_rows_per_s, stages=stages
    )


def stage(position: int, rows_per_s: float, run_time_s_per_s: float, slots: int = 8) -> StageReading:
    return StageReading(
        position=position, name=f"stage {position}", tasks=8.0, rows_per_s=rows_per_s, run_time_s_per_s=run_time_s_per_s, busyness=run_time_s_per_s / slots
    )


def seen(chance: random.Random, readings: int = 60) -> list[QueryReading]:
    def one(batch_id: int) -> QueryReading:
        source = chance.uniform(10_000.0, 60_000.0)
        rows = [source * selectivity * (1 + chance.gauss(0.0, 0.03)) for selectivity in SELECTIVITIES]
        stages = tuple(stage(i, rows[i], rows[i] / TRUE_RATES[i] * (1 + chance.gauss(0.0, 0.1))) for i in range(2))
        return reading(batch_id, source, stages)

    return [one(batch_id) for batch_id in range(readings)]


class TestConformanceOfTheTrueRate(Conformance):
    case = Case(
        empty=StageRates(),
        world=lambda chance: World(seen=seen(chance), truth=TRUE_RATES[1]),
        ask=lambda model: model.predict(1),
    )


class TestConformanceOfTheSelectivity(Conformance):
    case = Case(
        empty=StageRates(),
        world=lambda chance: World(seen=seen(chance), truth=SELECTIVITIES[1]),
        ask=lambda model: model.predict_selectivity(1),
    )


@pytest.mark.parametrize("slots", [1, 8, 100])
def test_a_tasks_rate_over_its_busyness_does_not_depend_on_the_slots(slots: int) -> None:
    readings = [reading(batch_id, 100.0 * load, (stage(0, 100.0 * load, 0.02 * load, slots),)) for batch_id, load in enumerate((1.0, 2.0, 3.0, 4.0))]
    estimate = StageRates().learn(readings).predict(0)
    assert isinstance(estimate, Estimate)
    of_a_task = [(each.stages[0].rows_per_s / slots) / (each.stages[0].busyness or 1.0) for each in readings]
    assert estimate.value == pytest.approx(5000.0)
    assert of_a_task == pytest.approx([5000.0] * 4)


def test_a_reading_without_a_new_batch_is_not_learnt_twice() -> None:
    once = seen(random.Random(1), readings=6)
    twice = [each for each in once for _ in range(2)]
    assert StageRates().learn(twice) == StageRates().learn(once)


def test_windows_without_work_tell_nothing() -> None:
    idle = [reading(100 + index, 0.0, (stage(0, 0.0, 0.0), stage(1, 0.0, 0.0))) for index in range(5)]
    busy = seen(random.Random(1), readings=6)
    assert StageRates().learn([*busy, *idle]).predict(0) == StageRates().learn(busy).predict(0)
    assert isinstance(StageRates().learn(idle).predict(0), NotReady)


def test_an_unknown_stage_or_an_unknown_source_rate_is_not_ready() -> None:
    model = StageRates().learn([reading(index, 0.0, (stage(0, 10.0, 0.1),)) for index in range(4)])
    assert isinstance(model.predict(0), Estimate)
    assert isinstance(model.predict_selectivity(0), NotReady) and isinstance(model.predict(7), NotReady)
