from dataclasses import replace

import numpy as np
from changes import scaling

from penstock.core.domain.fault import Fault
from penstock.core.domain.instruction import Instruction
from penstock.core.domain.trigger import Trigger
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.shapes.chance import FloatArray
from penstock.simulator.continuous import ContinuousEngine
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.simulator.graph import GraphQuery, QueryGraph
from penstock.simulator.ground_truth import Record
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine
from penstock.simulator.sharing import Scheduler

Graph = QueryGraph[MicroBatchSettings] | QueryGraph[ContinuousSettings]
Running = MicroBatchEngine | ContinuousEngine
BATCHES = MicroBatchSettings(overhead_s=0.4, row_s=0.001, partitions=8, trigger=Trigger(interval_s=4.0), noise=0.05)
FLOW = ContinuousSettings(capacity_rows_per_s=1000.0, interval_s=10.0, downtime_s=20.0, up_s=20.0, down_s=10.0)


def in_batches(selectivity: float = 0.5, scheduler: Scheduler = "fair", job: MicroBatchSettings = BATCHES) -> QueryGraph[MicroBatchSettings]:
    """Two queries that read the source, and one that reads the first of them."""
    return QueryGraph(
        queries=(
            GraphQuery(settings=replace(job, query="clicks"), selectivity=selectivity),
            GraphQuery(settings=replace(job, query="views", row_s=0.5 * job.row_s, trigger=Trigger(interval_s=3.0)), share=0.4),
            GraphQuery(settings=replace(job, query="alerts", row_s=2 * job.row_s, partitions=4), reads="clicks"),
        ),
        scheduler=scheduler,
    )


def flowing(selectivity: float = 0.5, job: ContinuousSettings = FLOW) -> QueryGraph[ContinuousSettings]:
    return QueryGraph(
        queries=(
            GraphQuery(settings=replace(job, query="clicks"), selectivity=selectivity),
            GraphQuery(settings=replace(job, query="views", capacity_rows_per_s=2 * job.capacity_rows_per_s, interval_s=7.0), share=0.4),
            GraphQuery(settings=replace(job, query="alerts", capacity_rows_per_s=0.5 * job.capacity_rows_per_s), reads="clicks"),
        )
    )


def engine(
    graph: Graph | MicroBatchSettings | ContinuousSettings, load: Arrivals | float, executors: int, faults: tuple[Fault, ...] = (), seed: int = 0
) -> Running:
    arrivals = Load.of(load if isinstance(load, Arrivals) else Arrivals.constant(load), 0.0)
    first = graph.queries[0].settings if isinstance(graph, QueryGraph) else graph
    kind: type[Running] = ContinuousEngine if isinstance(first, ContinuousSettings) else MicroBatchEngine
    return kind(graph, arrivals, executors=executors, seed=seed, faults=faults)  # type: ignore[arg-type]


def lived(running: Running, until_s: float, asked: dict[float, Instruction] | None = None) -> dict[str, Record]:
    """What happened to each query by then, with these instructions at these times; it is looked at every ten seconds, as a controller does."""
    asked = asked or {}
    for at_s in sorted({*np.arange(10.0, until_s, 10.0).tolist(), *asked, until_s}):
        running.advance(at_s)
        running.observation()
        if at_s in asked:
            running.perform(asked[at_s], lambda outcome: None)
    return running.records


def scale(executors: int, number: int = 1, before: int = 0) -> Instruction:
    return scaling(number, before, executors)


def until(column: FloatArray) -> FloatArray:
    return np.cumsum(column)
