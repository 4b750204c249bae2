"""Baselines: a fixed number of executors, and TWRES, which Phoebe was compared with."""

from dataclasses import dataclass, replace

from penstock.core.domain.configuration import Configuration
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.prediction import Prediction
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.policy import Need
from penstock.core.knowledge.predicting import capacity_prediction
from penstock.core.policies.choosing import decided, keep, smallest
from penstock.core.settings import setting, timer


@dataclass(frozen=True, slots=True, kw_only=True)
class Static:
    """Always the same number of executors; learns nothing."""

    name: str = "static"
    period_s: float = timer(60.0, "time between two decisions", lowest=1)
    executors: int = setting(0, "number of executors; 0: as declared", lowest=0, highest=100_000)
    needs: frozenset[Need] = frozenset()
    faithful: bool = True

    def decide(self, seen: Assessment) -> Decision:
        return decided(seen, self.name, seen.limits.nearest(self.executors or seen.declared.executors), Comparison(code="as_declared"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Twres:
    """The fewest executors whose T_max exceeds the forecast, and one more while latency is too high (Phoebe sec. IV-C, with Phoebe's profile and period)."""

    name: str = "twres"
    period_s: float = timer(600.0, "time between two decisions (Phoebe IV-C)", lowest=1)
    horizon_s: float = timer(600.0, "how far ahead the load is considered (Phoebe IV-C)", lowest=1)
    latency_limit_s: float = setting(2.0, "latency above which an executor is added (Phoebe IV-C)", lowest=0.001, highest=86400)
    needs: frozenset[Need] = frozenset({"load", "profile", "forecast"})
    faithful: bool = True

    def decide(self, seen: Assessment) -> Decision:
        coming = seen.peak(self.horizon_s)
        present, latency = seen.t_max.get(seen.executors), seen.reading.latency
        suffices = seen.load_rows_per_s is not None and present is not None and present.value > coming
        if suffices and latency is not None and latency.p95_s > self.latency_limit_s:
            return self._one_more(seen, latency.p95_s)

        def refuse(executors: int, most: float) -> Comparison | None:
            return None if most > coming else Comparison(code="capacity_below_peak", value=most, limit=coming)

        return smallest(replace(seen, capacities=seen.t_max), self.name, refuse)

    def predict(self, seen: Assessment, configuration: Configuration, decider: str) -> tuple[Prediction, ...]:
        return capacity_prediction(seen, seen.t_max, configuration)

    def _one_more(self, seen: Assessment, latency_s: float) -> Decision:
        more = seen.executors + 1
        if more > seen.limits.max_executors:
            return keep(seen, self.name, "limits", more, seen.limits.max_executors)
        return decided(seen, self.name, more, Comparison(code="latency_above_limit", value=latency_s, limit=self.latency_limit_s))
