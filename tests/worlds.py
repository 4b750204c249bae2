import math
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from assessed import NOW_S, about
from changes import scaled_to
from hypothesis import strategies as st
from laws import filling

from penstock.core.domain.decision import Recommended
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.policy_memory import AutoMemory, DraMemory, Ds2Memory, HpaMemory, PolicyMemory, Wanted
from penstock.core.domain.reading import ExecutorReading, Quantiles, QueryReading, StageReading
from penstock.core.domain.trigger import Plant, Trigger
from penstock.core.knowledge.assessment import Assessment, StageNeed
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.latency.latency_table import LatencyTable
from penstock.core.models.recovery.arrivals import Arrivals, forecast_arrivals
from penstock.runtime.fakes import blank_reading

STEP_S = 60.0
PARTS = ("load_rows_per_s", "capacities", "batch_laws", "t_max", "table", "forecast", "arrivals", "stages", "batch_s", "executors", "queries", "latency")
"""Of an assessment or its reading: each of them may be unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A job whose executors carry `each` rows/s times their number to the power `bend`, under a load of `share` of what the largest carries.

    Where the `overhead_s` of a batch is known, so is its whole law, and executors carry what that says. `decided_s` is how long ago the last decision was.
    """

    plant: Plant
    least: int
    most: int
    each: float
    bend: float
    share: float
    shape: tuple[float, ...]
    lag_s: float
    since_rescale_s: float | None
    uptime_s: float
    interval_s: float
    slots: int
    partitions: int
    latency_s: float
    promises: Promises
    live: bool
    downtimes_s: dict[str, float]
    overhead_s: float | None = None
    decided_s: float | None = None
    wanted: tuple[tuple[float, int], ...] = ()
    unknown: frozenset[str] = field(default_factory=frozenset)

    @property
    def executor_counts(self) -> range:
        return range(self.least, self.most + 1)

    @property
    def law(self) -> BatchLaw | None:
        """An executor whose slots are all busy does `each` rows/s."""
        if self.overhead_s is None:
            return None
        return BatchLaw(overhead_s=self.overhead_s, row_s=self.slots / self.each, partitions=self.partitions, cores_per_executor=self.slots)

    @property
    def memory(self) -> AutoMemory:
        wanted = tuple(Wanted(at_s=NOW_S - age_s, executors=executors) for age_s, executors in self.wanted)
        return AutoMemory(hpa=HpaMemory(wanted=wanted), ds2=Ds2Memory(wanted=wanted))

    def capacity(self, executors: int) -> float:
        return self.each * float(executors**self.bend) if self.law is None else self.law.capacity_rows_per_s(executors, filling(self.interval_s))

    def seen(self, current: int, *, more: float = 1.0, **known: Any) -> Assessment:
        """With this many executors and `more` times the rows that come and wait."""
        at_s: float = known.get("at_s", NOW_S)
        load = more * self.share * self.capacity(self.most)
        by_executors = {executors: about(self.capacity(executors)) for executors in self.executor_counts}
        forecast = self.forecast(load)
        arrivals = Arrivals.constant(load) if forecast is None else forecast_arrivals(forecast, [(NOW_S, load)])
        whole = Assessment(
            at_s=NOW_S, plant=self.plant, reading=self.reading(current, load), current=scaled_to(current), declared=scaled_to(self.most),
            limits=Limits(min_executors=self.least, max_executors=self.most), promises=self.promises, cadence=filling(self.interval_s),
            uptime_s=self.uptime_s, since_rescale_s=self.since_rescale_s, load_rows_per_s=load,
            batch_s=self.batch_s(current, load) if self.plant == "micro_batch" else None, slots_each=self.slots, capacities=by_executors,
            batch_laws=None if self.law is None else LikelyLaws(best=self.law, drawn=(self.law,)), t_max=by_executors, forecast=forecast,
            arrivals=arrivals, downtimes_s=self.downtimes_s, stops=frozenset() if self.live else frozenset({"rescale_up", "rescale_down"}),
            table=table_of(self.executor_counts, tuple(map(self.capacity, self.executor_counts)), self.capacity(1) / 2),
            stages=(StageNeed(position=0, name="source", rate_rows_per_s=self.each / self.slots, selectivity=1.0),),
            earlier=() if self.decided_s is None else (Recommended(at_s=at_s - self.decided_s, configuration=scaled_to(current)),), memory=self.memory,
        )  # fmt: skip
        return without(replace(whole, **known), self.unknown)

    def reading(self, current: int, load: float) -> Any:
        busy = self.busyness(current, load)
        one = ExecutorReading(executor_id="0", host="a", slots=self.slots, uptime_s=self.uptime_s, busyness=busy, cpu_cores=busy * self.slots)
        stage = StageReading(position=0, name="source", tasks=self.partitions, rows_per_s=load, run_time_s_per_s=busy * self.slots * current, busyness=busy)
        trigger = Trigger(kind="real_time" if self.plant == "continuous" else "processing_time", interval_s=self.interval_s)
        query = QueryReading(name="counts", state="running", trigger=trigger, rate_limit_rows_per_s=None, uptime_s=self.uptime_s, stages=(stage,))
        return blank_reading(
            NOW_S, executors=tuple(replace(one, executor_id=str(number)) for number in range(current)), executors_running=current,
            executors_requested=current, excess_lag_rows=self.lag_s * load,
            latency=Quantiles(p50_s=self.latency_s / 2, p95_s=self.latency_s, p99_s=self.latency_s * 2), queries=(query,),
        )  # fmt: skip

    def busyness(self, current: int, load: float) -> float:
        """Of slots; by the law of batches some are empty even when no more rows could be done."""
        done = min(1.0, load / self.capacity(current))
        if self.law is None:
            return done
        used = self.law.partitions / (self.law.waves(current) * current * self.law.cores_per_executor * self.law.skew)
        return done * self.law.utilization_at_capacity(filling(self.interval_s)) * used

    def batch_s(self, current: int, load: float) -> float:
        if self.law is not None:
            return self.law.duration_s(load * self.interval_s, current)
        return 0.2 + self.interval_s * min(3.0, load / self.capacity(current))

    def forecast(self, load: float) -> Forecast | None:
        if not self.shape:
            return None
        mean = tuple(load * share for share in self.shape)
        return Forecast(start_s=NOW_S, step_s=STEP_S, mean=mean, levels=(0.1, 0.9), paths=(mean, tuple(1.2 * rate for rate in mean)))


@cache
def table_of(executor_counts: range, carried: tuple[float, ...], step: float) -> LatencyTable:
    """Latencies are normal up to nine tenths of what the executors carry."""
    rates = tuple(float(rate) for rate in range(0, 2 * math.ceil(carried[-1]), math.ceil(step)))
    valid = tuple(tuple(rate <= 0.9 * most for rate in rates) for most in carried)
    latency_s = tuple(tuple(1.0 if kept_up else 60.0 for kept_up in row) for row in valid)
    return LatencyTable(executor_counts=tuple(executor_counts), rates_rows_per_s=rates, latency_s=latency_s, valid=valid, rows=100)


def without(seen: Assessment, unknown: frozenset[str]) -> Assessment:
    blank: dict[str, Any] = {"capacities": {}, "t_max": {}, "stages": (), "executors": (), "queries": ()}
    of_reading: dict[str, Any] = {part: blank.get(part) for part in unknown & {"executors", "queries", "latency"}}
    of_seen: dict[str, Any] = {part: blank.get(part) for part in unknown - of_reading.keys()}
    return replace(seen, reading=replace(seen.reading, **of_reading), **of_seen)


def remembering(seen: Assessment, policy: str) -> Assessment:
    """The same with what this policy would remember, of what `auto` does."""
    if not isinstance(seen.memory, AutoMemory):
        return seen
    own: dict[str, PolicyMemory] = {"auto": seen.memory, "ds2": seen.memory.ds2, "spark_dra": DraMemory(idle_since_s={"0": NOW_S - 100.0})}
    return replace(seen, memory=own.get(policy, seen.memory.hpa))


DOWNTIMES = st.floats(0.5, 150.0)
KINDS = ("rescale_up", "rescale_down", "query_restart", "executor_loss")


@st.composite
def worlds(draw: st.DrawFn, *, steady: bool = False) -> World:
    """Jobs of all kinds; steady ones have a constant load without lag, and nothing about them is unknown."""
    least = draw(st.integers(1, 4))
    most = draw(st.integers(least, 14))
    plant: Plant = draw(st.sampled_from(("micro_batch", "continuous")))
    shape = () if steady else draw(st.one_of(st.just(()), st.lists(st.floats(0.3, 2.0), min_size=15, max_size=15).map(tuple)))
    interval_s = draw(st.floats(1.0, 30.0))
    return World(
        plant=plant, least=least, most=most, each=draw(st.floats(20.0, 5000.0)), bend=draw(st.floats(0.6, 1.0)),
        share=draw(st.one_of(st.just(0.0), st.floats(0.01, 1.3))), shape=shape,
        lag_s=0.0 if steady else draw(st.one_of(st.just(0.0), st.floats(0.0, 900.0))),
        since_rescale_s=draw(st.one_of(st.none(), st.floats(0.0, 4000.0))), uptime_s=draw(st.floats(0.0, 4000.0)), interval_s=interval_s,
        slots=draw(st.integers(1, 4)), partitions=draw(st.integers(1, 60)), latency_s=draw(st.floats(0.1, 5.0)),
        promises=draw(st.builds(Promises, latency_p95_s=st.sampled_from((None, 1.0)), recovery_s=st.one_of(st.none(), st.floats(20.0, 900.0)))),
        live=plant == "micro_batch" or draw(st.booleans()), downtimes_s={kind: draw(DOWNTIMES) for kind in KINDS},
        overhead_s=draw(st.none() | st.floats(0.0, 0.6 * interval_s)) if plant == "micro_batch" else None,
        decided_s=draw(st.none() | st.floats(1.0, 4000.0)),
        wanted=() if steady else tuple(draw(st.lists(st.tuples(st.floats(1.0, 4000.0), st.integers(least, most)), max_size=4))),
        unknown=frozenset() if steady else draw(st.one_of(st.just(frozenset()), st.frozensets(st.sampled_from(PARTS)))),
    )  # fmt: skip


@st.composite
def assessments(draw: st.DrawFn) -> Assessment:
    world = draw(worlds())
    return world.seen(draw(st.sampled_from(world.executor_counts)))
