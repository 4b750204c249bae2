"""What a job has taught that was watched, profiled and disturbed for a while: something in every model, numbers that no decimal writes."""

import math

from penstock.core.domain.profile import ProfileSeen
from penstock.core.domain.reading import QueryReading, StageReading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.learnt import Learnt
from penstock.core.models.anomaly.keeping_up import FlowSeen
from penstock.core.models.anomaly.recovery_watch import RecoveryWatch
from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.capacity_by_executors import CapacityByExecutors, CapacityMeasured
from penstock.core.models.capacity.capacity_model import CapacityModel, CapacitySeen
from penstock.core.models.capacity.executor_use import ExecutorUse, ExecutorUses
from penstock.core.models.capacity.pace import Pace, PaceSeen
from penstock.core.models.forecast.combined import LoadForecast
from penstock.core.models.forecast.refit import Fit
from penstock.core.models.forecast.series import LoadSeen
from penstock.core.models.latency.batch_latency import BatchLatency, LatencyMeasured
from penstock.core.models.latency.latency_by_executors import LatencyByExecutors
from penstock.core.models.latency.latency_table import LatencyTable, tabulate
from penstock.core.models.recovery.downtime import Downtimes, DowntimeSeen
from penstock.core.models.recovery.recovery_regression import RecoveryRegression, RecoverySeen, RecoveryTable, tabulated
from penstock.core.models.stage_rates import StageRates

BATCHES = [BatchMeasured(rows=100.0 * n, duration_s=0.3 + n / 7, executors=1 + n % 2, tasks=n) for n in range(1, 20)]
FITS = {"autoets": Fit(parameters={"alpha": 1 / 3, "phi": math.nextafter(1.0, 0.0)}, at=400, values=360, promised=0.1 + 0.2)}
FITS["seasonal"] = Fit(parameters=None, at=400, values=360, promised=None)
LATENCIES = [LatencyMeasured(rate_rows_per_s=100.0 * n, interval_s=5.0, latency_s=1 / n, executors=2) for n in range(1, 9)]


def load() -> LoadForecast:
    seen = [LoadSeen(at_s=10.0 * n, rate_rows_per_s=900 + 300 * math.sin(n / 9) + n % 7) for n in range(400)]
    return LoadForecast().learn(seen).scored()


def profile() -> LatencyByExecutors:
    points = [(executors, rate) for executors in (1, 2, 4) for rate in (300.0, 1000.0, 2500.0)]
    rows = [ProfileSeen(executors=each, rate_rows_per_s=rate, latency_s=0.1 + rate / each / 7000, valid=rate < 900 * each) for each, rate in points]
    return LatencyByExecutors().learn(rows)


def uses(number: int) -> ExecutorUses:
    each = (ExecutorUse(executor=name, utilization=0.3 + number / 99, throughput_rows_per_s=100 + number / 7) for name in "ab")
    return ExecutorUses(at_s=15.0 * number, executors=2, since_change_s=None, uses=tuple(each))


def stages(number: int) -> QueryReading:
    stage = StageReading(position=0, name="scan", tasks=4.0, rows_per_s=100.0 * number, run_time_s_per_s=number / 7, busyness=0.1)
    return QueryReading(
        name="q", state="running", trigger=Trigger(), rate_limit_rows_per_s=None, batch_id=number, throughput_rows_per_s=90.0 * number, stages=(stage,)
    )


def health() -> RecoveryWatch:
    flow = [FlowSeen(at_s=5.0 * n, workload_rows_per_s=100 / 3, throughput_rows_per_s=33.0 + n % 3, lag_rows=n / 3) for n in range(30)]
    return RecoveryWatch().learn(flow).disturbed(200.0, "executor_loss")


def recoveries() -> RecoveryRegression:
    seen = [(rate, 30.0 + rate * 40.0 / (4000.0 - rate)) for rate in (900.0, 1400.0, 2000.0, 2700.0, 3100.0)]
    return RecoveryRegression(most_seen=100).learn(
        [RecoverySeen(interval_s=10.0, rate_rows_per_s=rate, recovery_s=took_s, executors=4) for rate, took_s in seen]
    )


def learnt() -> Learnt:
    table, recovery_table = tabulate(profile(), (1, 2, 4), 3000.0), tabulated(recoveries(), 10.0)
    assert isinstance(table, LatencyTable) and isinstance(recovery_table, RecoveryTable)
    capacity = CapacityModel(by_batches=BatchCost(partitions=4))
    return Learnt(
        load=load().with_fits(FITS), capacity=capacity.learn([CapacitySeen(uses=uses(n), batches=(BATCHES[n % 19],)) for n in range(1, 30)]),
        batches={"q": BatchLatency(cost=BatchCost(partitions=4), quantile=0.95).learn([*BATCHES, *LATENCIES])},
        stages={"q": StageRates().learn([stages(n) for n in range(9)])}, profile=profile(),
        t_max=CapacityByExecutors().learn([CapacityMeasured(executors=3, throughput_rows_per_s=1e4 / 3)]), table=table,
        pace=Pace().learn([PaceSeen(share=1 / 3 + number / 99, overloaded=True) for number in range(4)]), profile_mark=7,
        downtimes=Downtimes().learn([DowntimeSeen(kind="rescale_up", downtime_s=20 / 3)]), recoveries={"executor_loss": recoveries()},
        recovery_tables={"executor_loss": recovery_table}, health=health(), time_scale=0.06, learnt_s=1 / 3, batch_ids={"q": 7}, live=("rescale_up",),
        failures=2, query_failures=1, applied_number=3, failure_number=2, excess_lag_rows=0.1, is_contended=True,
    )  # fmt: skip
