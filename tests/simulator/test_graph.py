from dataclasses import fields, replace

import numpy as np
import pytest
from changes import changing
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_graph import BATCHES, FLOW, Graph, Running, engine, flowing, in_batches, lived, scale, until
from simulated_job import assert_nothing_is_lost

from penstock.core.config import Config
from penstock.core.domain.fault import Fault
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.simulator.graph import GraphQuery, QueryGraph
from penstock.simulator.ground_truth import Seconds
from penstock.simulator.plant import SimulatedClock, SimulatedPlant
from penstock.simulator.sharing import Scheduler, fair, in_order

RISING = Arrivals.through((0.0, 100.0, 200.0, 300.0), (500.0, 2500.0, 2500.0, 200.0))


def change(query: str, interval_s: float, *, flows: bool) -> Instruction:
    trigger = Trigger(kind="real_time" if flows else "processing_time", interval_s=interval_s)
    return changing(9, query, trigger=(Trigger(), trigger))


NOISY, SKEWED = replace(BATCHES, noise=0.1), replace(FLOW, skew=0.2)


@pytest.mark.parametrize(
    ("job", "of_one"),
    [(NOISY, QueryGraph(queries=(GraphQuery(settings=NOISY),))), (SKEWED, QueryGraph(queries=(GraphQuery(settings=SKEWED),)))],
    ids=["micro-batch", "continuous"],
)
def test_a_graph_of_one_query_is_the_single_engine_to_the_last_digit(job: MicroBatchSettings | ContinuousSettings, of_one: Graph) -> None:
    faults = (Fault(at_s=60.0), Fault(at_s=150.5, kind="freeze"))
    asked: dict[float, Instruction] = {90.0: scale(6, 1), 121.0: change("query", 5.0, flows=isinstance(job, ContinuousSettings)), 210.0: scale(3, 2)}
    (alone,), (one,) = (lived(engine(each, RISING, 4, faults, seed=3), 300.0, asked).values() for each in (job, of_one))
    assert all(np.array_equal(getattr(alone.seconds(), each.name), getattr(one.seconds(), each.name)) for each in fields(Seconds))
    assert all(np.array_equal(mine, others) for mine, others in zip(alone.delivered, one.delivered, strict=True))
    assert (alone.struck, alone.rescales) == (one.struck, one.rescales) and len(one.struck) == 2 and one.rescales


@given(
    rate=st.floats(50.0, 6000.0), selectivity=st.floats(0.0, 3.0), executors=st.integers(1, 8), after=st.integers(1, 8),
    scheduler=st.sampled_from(["fair", "fifo"]), fault_s=st.floats(5.0, 150.0), kind=st.sampled_from(["kill", "freeze"]), seed=st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_what_a_query_in_batches_writes_is_what_the_next_one_gets(
    rate: float, selectivity: float, executors: int, after: int, scheduler: Scheduler, fault_s: float, kind: str, seed: int
) -> None:
    faults = (Fault(at_s=fault_s, kind="kill" if kind == "kill" else "freeze"),)
    running = engine(in_batches(selectivity, scheduler), rate, executors, faults, seed)
    records = lived(running, 200.0, {70.0: scale(after), 120.0: change("clicks", 6.0, flows=False)})
    for record in records.values():
        assert_nothing_is_lost(record)
    written, got = selectivity * until(records["clicks"].seconds().finished_rows), until(records["alerts"].seconds().arrived_rows)
    assert got == pytest.approx(written, rel=1e-9, abs=1e-6)


@given(
    rate=st.floats(50.0, 6000.0), selectivity=st.floats(0.0, 3.0), executors=st.integers(1, 8), after=st.integers(1, 8), fault_s=st.floats(5.0, 150.0),
    seed=st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_what_a_flowing_query_writes_is_what_the_next_one_gets_a_second_later(
    rate: float, selectivity: float, executors: int, after: int, fault_s: float, seed: int
) -> None:
    running = engine(flowing(selectivity), rate, executors, (Fault(at_s=fault_s),), seed)
    records = lived(running, 200.0, {70.0: scale(after), 120.0: change("clicks", 6.0, flows=True)})
    for record in records.values():
        assert_nothing_is_lost(record)
    written, got = selectivity * records["clicks"].seconds().finished_rows, records["alerts"].seconds().arrived_rows
    assert got[1:] == pytest.approx(written[:-1], rel=1e-6, abs=1e-4) and got[0] == 0.0


@given(rate=st.floats(50.0, 9000.0), executors=st.integers(1, 8), selectivity=st.floats(0.0, 2.0))
@settings(max_examples=20, deadline=None)
def test_no_executor_does_more_than_a_second_of_work_in_a_second(rate: float, executors: int, selectivity: float) -> None:
    graph = flowing(selectivity)
    records = lived(engine(graph, rate, executors), 120.0)
    busy = sum(records[each.name].seconds().finished_rows / each.settings.capacity_rows_per_s for each in graph.queries)
    assert np.max(busy) <= executors * (1 + 1e-9)


@given(rate=st.floats(500.0, 9000.0), executors=st.integers(1, 8), scheduler=st.sampled_from(["fair", "fifo"]))
@settings(max_examples=20, deadline=None)
def test_executors_are_never_busier_than_they_have_slots(rate: float, executors: int, scheduler: Scheduler) -> None:
    running = engine(in_batches(scheduler=scheduler, job=replace(BATCHES, noise=0.0)), rate, executors)
    running.advance(240.0)
    batches = [batch for query in running.observation().queries for batch in query.batches]
    assert sum(stage.run_time_s for batch in batches for stage in batch.stages) <= 240.0 * executors * (1 + 1e-9)


def durations(running: Running, until_s: float = 60.0) -> dict[str, float]:
    running.advance(until_s)
    return {query.name: query.batches[-1].duration_s for query in running.observation().queries if query.batches}


def alike(scheduler: Scheduler, partitions: int = 8, triggers: tuple[float, float] = (10.0, 10.0)) -> QueryGraph[MicroBatchSettings]:
    job = replace(BATCHES, noise=0.0, overhead_s=1.0, partitions=partitions)
    first, second = triggers
    return QueryGraph(
        queries=(
            GraphQuery(settings=replace(job, query="one", trigger=Trigger(interval_s=first))),
            GraphQuery(settings=replace(job, query="two", trigger=Trigger(interval_s=second))),
        ),
        scheduler=scheduler,
    )


def test_two_batches_at_once_take_twice_as_long_in_fair_pools_and_one_of_them_waits_in_order() -> None:
    """1,000 rows/s for 10 s, 1 ms each, 8 tasks on 4 slots: 1 s of overhead and 2.5 s of work alone."""
    alone = durations(engine(replace(BATCHES, noise=0.0, overhead_s=1.0, trigger=Trigger(interval_s=10.0)), 1000.0, 4))
    assert alone == {"query": pytest.approx(3.5)}
    assert durations(engine(alike("fair"), 1000.0, 4)) == {"one": pytest.approx(6.0), "two": pytest.approx(6.0)}
    assert durations(engine(alike("fifo"), 1000.0, 4)) == {"one": pytest.approx(3.5), "two": pytest.approx(6.0)}


def test_batches_share_slots_and_only_the_query_that_is_changed_stands_still() -> None:
    for scheduler in ("fair", "fifo"):
        both = durations(engine(alike(scheduler, partitions=2), 500.0, 4))
        assert both == {"one": pytest.approx(1.0 + 2.5), "two": pytest.approx(1.0 + 2.5)}
    records = lived(engine(flowing(), 500.0, 4), 120.0, {60.0: change("views", 5.0, flows=True)})
    assert [float(record.seconds().down.sum()) for record in records.values()] == [0.0, 20.0, 0.0]


def test_a_batch_that_has_the_executors_to_itself_again_catches_up() -> None:
    """From 31 s on 1 s and 3 s of work: the first takes 2 s of half the slots, and the second the last 2 s alone."""
    assert durations(engine(alike("fair", triggers=(10.0, 30.0)), 400.0, 4), until_s=40.0) == {"one": pytest.approx(3.0), "two": pytest.approx(5.0)}


def test_a_busy_query_leaves_a_calm_one_what_it_wants() -> None:
    """2 executors: the calm one needs a quarter of them and gets it, the other can have no more than the rest."""
    graph = QueryGraph(
        queries=(GraphQuery(settings=replace(FLOW, query="busy", pause_s=0.0)), GraphQuery(settings=replace(FLOW, query="calm", pause_s=0.0), share=0.1))
    )
    records = lived(engine(graph, 5000.0, 2), 100.0)
    assert records["calm"].seconds().lag_rows.max() == pytest.approx(0.0, abs=1e-6)
    assert records["busy"].seconds().finished_rows == pytest.approx(1500.0)


@pytest.mark.parametrize("graph", [in_batches(), flowing()], ids=["micro-batch", "continuous"])
def test_the_monitor_reads_every_query_of_a_graph(graph: Graph) -> None:
    clock = SimulatedClock(0.0)
    plant = SimulatedPlant(engine(graph, 800.0, 6), clock, Config(reading_interval_s=10.0))
    for _ in range(30):
        clock.wait(10.0)
        reading = plant.read()
    assert [query.name for query in reading.queries] == ["clicks", "views", "alerts"]
    arrivals = [query.arrival_rows_per_s for query in reading.queries]
    assert arrivals[:2] == [pytest.approx(800.0), pytest.approx(320.0)] and arrivals[2] == pytest.approx(400.0, rel=0.25)
    assert reading.throughput_rows_per_s == pytest.approx(1520.0, rel=0.1)
    assert all(query.latency is not None and query.latency.p95_s > 0 for query in reading.queries)


@pytest.mark.parametrize("graph", [in_batches(), flowing()], ids=["micro-batch", "continuous"])
def test_a_job_has_recovered_when_all_of_its_queries_have(graph: Graph) -> None:
    running = engine(graph, 900.0, 5, (Fault(at_s=60.0),))
    ends_s = [record.struck[0].recovered_s for record in lived(running, 400.0).values()]
    assert running.record.struck[0].recovered_s == max(each for each in ends_s if each is not None) and None not in ends_s
    whole, parts = running.record.seconds(), [record.seconds() for record in running.records.values()]
    assert whole.finished_rows.sum() == pytest.approx(sum(part.finished_rows.sum() for part in parts))
    assert np.array_equal(whole.executors, parts[0].executors)


@pytest.mark.parametrize("graph", [in_batches(), flowing()], ids=["micro-batch", "continuous"])
def test_a_query_that_is_not_there_is_refused(graph: Graph) -> None:
    said: list[Outcome] = []
    engine(graph, 500.0, 4).perform(change("absent", 5.0, flows=graph.is_continuous), said.append)
    assert [outcome.done for outcome in said] == [False] and "there is no query 'absent'" in said[0].reason


@pytest.mark.parametrize(
    ("queries", "said"),
    [
        ((), "a graph needs at least one query"),
        ((GraphQuery(settings=BATCHES), GraphQuery(settings=BATCHES)), 'there are two queries "query"'),
        ((GraphQuery(settings=BATCHES, reads="later"), GraphQuery(settings=replace(BATCHES, query="later"))), 'reads "later": no query before it'),
        ((GraphQuery(settings=BATCHES, share=0.0),), "a share above 0"),
        ((GraphQuery(settings=BATCHES), GraphQuery(settings=replace(BATCHES, query="b", cores_per_executor=2))), "cores_per_executor belongs to the executors"),
    ],
)
def test_a_graph_that_cannot_be_is_one_line(queries: tuple[GraphQuery[MicroBatchSettings], ...], said: str) -> None:
    with pytest.raises(UserMistake, match=said):
        QueryGraph(queries=queries)


def test_what_flows_is_never_first_come_first_served() -> None:
    with pytest.raises(UserMistake, match='share executors only by "fair"'):
        replace(flowing(), scheduler="fifo")


@given(wanted=st.lists(st.floats(0.0, 10.0), min_size=1, max_size=6), available=st.floats(0.0, 30.0))
def test_whoever_shares_out_gives_what_there_is_and_no_more_than_is_wanted(wanted: list[float], available: float) -> None:
    for got in (fair(wanted, available), in_order(wanted, available)):
        assert sum(got) == pytest.approx(min(sum(wanted), available), abs=1e-9)
        assert all(0.0 <= mine <= want + 1e-12 for mine, want in zip(got, wanted, strict=True))
    least = min((mine for mine, want in zip(fair(wanted, available), wanted, strict=True) if mine < want - 1e-9), default=None)
    assert least is None or max(fair(wanted, available)) <= least + 1e-9


def test_a_query_that_fails_alone_is_waited_for_alone() -> None:
    for graph in (in_batches(), flowing()):
        (_, clicks), (_, views), _ = lived(engine(graph, 1000.0, 4, (Fault(at_s=60.0, kind="restart", query="views"),)), 200.0, {}).items()
        assert [each.recovery_s for each in clicks.struck] == [0.0] and clicks.seconds().down.sum() == 0.0
        assert views.struck[0].recovery_s and views.seconds().down.sum() > 0.0


def test_a_query_with_nothing_to_read_has_recovered_from_a_crash_at_once() -> None:
    idle = GraphQuery(settings=replace(BATCHES, query="idle"), arrivals=Arrivals.through((0.0, 30.0, 31.0, 300.0), (100.0, 100.0, 0.0, 0.0)))
    running = engine(QueryGraph(queries=(GraphQuery(settings=replace(BATCHES, query="busy")), idle)), 1000.0, 4, (Fault(at_s=101.0),))
    running.advance(200.0)
    (struck,) = running.record.struck
    assert struck.recovery_s is not None and struck.recovery_s < 20.0


def test_on_one_load_queries_keep_their_shares_and_those_that_read_others_go_on_doing_so() -> None:
    graph = in_batches()
    own = replace(graph, queries=(replace(graph.queries[0], arrivals=Arrivals.constant(300.0)), *graph.queries[1:]))
    clicks, views, alerts = own.of_one_load(Arrivals.through((0.0, 100.0), (250.0, 250.0))).queries
    assert (clicks.share, views.share, alerts.reads) == (pytest.approx(0.75), pytest.approx(0.25), "clicks") and clicks.arrivals is None
    nothing = replace(own, queries=(replace(own.queries[0], arrivals=Arrivals.constant(0.0)), *own.queries[1:])).of_one_load(Arrivals.constant(0.0))
    assert [each.share for each in nothing.queries[:2]] == [0.5, 0.5], "where nothing came all have as much"
