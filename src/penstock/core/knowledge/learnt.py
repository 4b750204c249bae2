"""What was learnt of a job: models as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from penstock.core.domain.disturbance import DisturbanceKind
from penstock.core.domain.reading import Reading
from penstock.core.models.anomaly.recovery_watch import RecoveryWatch
from penstock.core.models.capacity.capacity_by_executors import CapacityByExecutors
from penstock.core.models.capacity.capacity_model import CapacityModel
from penstock.core.models.capacity.pace import Pace
from penstock.core.models.forecast.combined import LoadForecast
from penstock.core.models.latency.batch_latency import BatchLatency
from penstock.core.models.latency.latency_by_executors import LatencyByExecutors
from penstock.core.models.latency.latency_table import LatencyTable
from penstock.core.models.recovery.downtime import Downtimes
from penstock.core.models.recovery.recovery_regression import RecoveryRegression, RecoveryTable
from penstock.core.models.stage_rates import StageRates


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """One model for each question; those by query have its name, and `pace` says how far `t_max` and `table` hold.

    `profile_mark` is that of the owner's profile from which `profile`, `t_max`, `table` and `pace` began. `recoveries` are Khaos's M_R by kind of failure,
    `recovery_tables` what they say, as a fit has tabulated it.

    `time_scale` is what the windows of the models were made for (None: not begun), `learnt_s` when they last learnt, `batch_ids` the newest batch learnt
    of each query, `live` the rescales that were seen to go on without a stop, `failures` how many were known, `query_failures` those of queries among
    them, `applied_number` the newest instruction that `health` knows of, `failure_number` counts failures over all runs,
    `excess_lag_rows` that of the newest reading, `is_contended` whether others take much of the CPU.
    """

    load: LoadForecast = field(default_factory=LoadForecast)
    capacity: CapacityModel = field(default_factory=CapacityModel)
    batches: Mapping[str, BatchLatency] = field(default_factory=dict)
    stages: Mapping[str, StageRates] = field(default_factory=dict)
    profile: LatencyByExecutors = field(default_factory=LatencyByExecutors)
    t_max: CapacityByExecutors = field(default_factory=CapacityByExecutors)
    table: LatencyTable | None = None
    pace: Pace = field(default_factory=Pace)
    profile_mark: int = 0
    downtimes: Downtimes = field(default_factory=Downtimes)
    recoveries: Mapping[DisturbanceKind, RecoveryRegression] = field(default_factory=dict)
    recovery_tables: Mapping[DisturbanceKind, RecoveryTable] = field(default_factory=dict)
    health: RecoveryWatch = field(default_factory=RecoveryWatch)
    time_scale: float | None = None
    learnt_s: float | None = None
    batch_ids: Mapping[str, int] = field(default_factory=dict)
    live: tuple[DisturbanceKind, ...] = ()
    failures: int = 0
    query_failures: int = 0
    applied_number: int = 0
    failure_number: int = 0
    excess_lag_rows: float = 0.0
    is_contended: bool = False

    def warm_s(self, reading: Reading) -> float:
        """Return the time from which executors are warm after the last disturbance."""
        return -inf if reading.since_disturbance_s is None else reading.at_s - reading.since_disturbance_s + self.capacity.by_utilization.warm_up_s

    def is_warming(self, reading: Reading) -> bool:
        """Return whether the last disturbance is so recent that executors may still be slow."""
        return reading.at_s < self.warm_s(reading)
