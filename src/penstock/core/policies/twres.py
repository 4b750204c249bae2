"""TWRES: the smallest size whose largest rate exceeds what is forecast, and one more while latency is too high."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.core.assessment import Assessment
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.policies.choosing import compare, keep, smallest
from penstock.core.policies.policy import Need
from penstock.core.settings import setting, timer


@dataclass(frozen=True, slots=True, kw_only=True)
class Twres:
    """The baseline as Phoebe describes it, with Phoebe's own profile, forecast and period (sec. IV-C)."""

    name: str = "twres"
    period_s: float = timer(600.0, "time between two decisions (Phoebe sec. IV-C: its own E)", lowest=1)
    horizon_s: float = timer(600.0, "the load is looked at so far ahead (Phoebe sec. IV-C: its own)", lowest=1)
    latency_limit_s: float = setting(
        2.0, "where the size would do and latency is higher, one executor is added (Phoebe sec. IV-C)", lowest=0.001, highest=86400
    )
    needs: frozenset[Need] = frozenset({"load", "profile", "forecast"})
    faithful: bool = True

    def decide(self, seen: Assessment) -> Decision:
        coming = seen.peak(self.horizon_s)
        present, latency = seen.t_max.get(seen.current), seen.reading.latency
        suffices = seen.load_rows_per_s is not None and present is not None and present.value > coming
        if suffices and latency is not None and latency.p95_s > self.latency_limit_s:
            return self._one_more(seen, latency.p95_s)
        profiled = replace(seen, capacities=seen.t_max)
        return smallest(profiled, self.name, lambda size, most: compare("capacity_below_peak", most, coming, holds=most > coming))

    def _one_more(self, seen: Assessment, latency_s: float) -> Decision:
        size = seen.current + 1
        if size > seen.limits.max_executors:
            return keep(seen, self.name, "limits", size, seen.limits.max_executors)
        why = Comparison(code="latency_above_limit", value=latency_s, limit=self.latency_limit_s)
        return Decision(policy=self.name, executors=size, current=seen.current, why=why, memo=seen.memo)
