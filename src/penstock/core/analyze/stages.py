"""What each stage of the job needs, for policies that count slots."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.assessment import StageNeed
from penstock.core.domain.reading import Reading
from penstock.core.models.estimate import Estimate
from penstock.core.models.stages.true_rates import StageRates


def stage_needs(models: Mapping[str, StageRates], reading: Reading) -> tuple[StageNeed, ...]:
    """Every stage of every query, of which both the rate of a busy slot and the rows for each row of all sources are known; empty unless all are."""
    needs: list[StageNeed] = []
    for query in reading.queries:
        share = query.arrival_rows_per_s / reading.arrival_rows_per_s if query.arrival_rows_per_s is not None and reading.arrival_rows_per_s else 1.0
        model = models.get(query.name, StageRates())
        for stage in query.stages:
            rate, selectivity = model.predict(stage.position), model.predict_selectivity(stage.position)
            if not isinstance(rate, Estimate) or not isinstance(selectivity, Estimate) or rate.value <= 0:
                return ()
            needs.append(StageNeed(position=len(needs), name=stage.name, rate_rows_per_s=rate.value, selectivity=share * selectivity.value))
    return tuple(needs)
