"""A job to simulate, and the engine that it is simulated with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.core.domain.autopilot import Autopilot
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.terms import Terms
from penstock.simulator.continuous import ContinuousEngine
from penstock.simulator.engine import Engine
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.simulator.graph import QueryGraph, Simulable
from penstock.simulator.ground_truth import Fault, FaultKind
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine

SHORTEST_RUN_S = 60.0
"""A load that lasts less long tells nothing of a policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A job to simulate: what arrives, how its engine works, the terms it runs under, and what strikes it. All times are those of the load."""

    load: Arrivals
    engine: Simulable
    terms: Terms
    faults: tuple[Fault, ...] = ()
    seed: int = 0

    @property
    def is_continuous(self) -> bool:
        return self.engine.is_continuous if isinstance(self.engine, QueryGraph) else isinstance(self.engine, ContinuousSettings)


def told_downtimes(autopilot: Autopilot, engine: Simulable, faults: Sequence[Fault] = ()) -> Autopilot:
    """With what rescales and failures cost this engine, by kind: a failure its detection, and then a restart or, in micro-batches, tasks tried again."""
    settings: Any = engine.queries[0].settings if isinstance(engine, QueryGraph) else engine
    detection_s = settings.timeout_s if any(fault.kind == "timeout" for fault in faults) else 0.0
    known_s = {"rescale_up": settings.up_s, "rescale_down": settings.down_s}
    if isinstance(settings, MicroBatchSettings):
        known_s |= {"executor_loss": settings.retry_s, "query_restart": settings.failed_s}
        return replace(autopilot, downtime_s=settings.up_s, downtimes_s=known_s, detection_s=detection_s)
    return replace(autopilot, downtime_s=settings.up_s, downtimes_s={**known_s, "query_restart": detection_s + settings.downtime_s})


def noticed_after_s(engine: Simulable, fault: FaultKind) -> float:
    """Seconds from a fault until a reading counts it: in micro-batches an executor that froze is lost only when that is noticed."""
    settings: Any = engine.queries[0].settings if isinstance(engine, QueryGraph) else engine
    return settings.timeout_s if fault == "timeout" and isinstance(settings, MicroBatchSettings) else 0.0


def engine_of(setup: Setup, executors: int, load: Load, faults: Sequence[Fault] = ()) -> Engine:
    engine: Any = setup.engine
    kind = ContinuousEngine if setup.is_continuous else MicroBatchEngine
    return kind(engine, load, executors=executors, seed=setup.seed, faults=faults)
