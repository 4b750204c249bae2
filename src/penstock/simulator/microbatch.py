"""The micro-batch engine: queries that take in what has arrived, batch by batch, while executors come and go."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from penstock.core.domain.fault import Fault
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.monitor.facts import CpuWanted, ExecutorFact, Observation
from penstock.core.shapes.chance import key_of, uniform
from penstock.simulator.engine import Agenda, alone, refusal
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.simulator.executor_pool import LiveScaling, Pool
from penstock.simulator.graph import QueryGraph
from penstock.simulator.ground_truth import Record, Struck, together
from penstock.simulator.load import Load
from penstock.simulator.microbatch_query import Changing, MicroBatchQuery, misfit
from penstock.simulator.seeded_draws import VICTIMS
from penstock.simulator.sharing import SCHEDULERS

MOST_THREADS = 1000
"""More than the threads of any simulated job: as all of them compute all the time, others take the same share of each batch."""


class MicroBatchEngine:
    """A job of one query or several. An executor that comes in the middle of a batch takes waiting tasks at once, as with Spark's scheduler.

    Batches that run at the same time share the slots: each is slower in proportion to the slots that it lacks.
    """

    def __init__(
        self, of: MicroBatchSettings | QueryGraph[MicroBatchSettings], load: Load, *, executors: int, seed: int = 0, faults: Sequence[Fault] = (),
        promised_s: float | None = None,
    ) -> None:  # fmt: skip
        graph = self._graph = QueryGraph.of(of)
        topics, sources = graph.topics(), graph.sources(load)
        self._queries = [
            MicroBatchQuery(
                each.settings, graph.read_by(each, sources, topics), load.start_s, executors=executors, seed=key_of(seed, number) if number else seed,
                writes=topics.get(each.name), selectivity=each.selectivity, promised_s=promised_s,
            )
            for number, each in enumerate(graph.queries)
        ]  # fmt: skip
        self._shared = graph.queries[0].settings
        self._seed = seed
        self._start_s = self._now_s = load.start_s
        self._pool = Pool.warm(executors, load.start_s)
        self._agenda = Agenda()
        self._scaling = LiveScaling(self._pool, self._agenda, self._shared, [query.record for query in self._queries], seed)
        self._frozen: dict[str, tuple[float, float]] = {}
        self._unused: set[str] = set()
        for number, fault in enumerate(faults):
            self._agenda.add(fault.at_s, partial(self._strike, number, fault))
        self._strikes = len(faults)

    @property
    def records(self) -> dict[str, Record]:
        for query in self._queries:
            query.diary.write(self._now_s, query.reads)
        return {query.name: query.record for query in self._queries}

    @property
    def record(self) -> Record:
        return together(list(self.records.values()))

    def follow(self, load: Load) -> None:
        sources = self._graph.sources(load)
        for query in self._queries:
            query.reads = sources.get(query.name, query.reads)

    def advance(self, until_s: float) -> None:
        """Simulate until `until_s`. Of events of the same time, a fault comes before a commit, and a commit before the next batch."""
        while True:
            at_s, act = self._next()
            if at_s > until_s:
                break
            self._now_s = max(self._now_s, at_s)
            act()
            self._join()
            self._share_out()
            self._pay()
        self._now_s = max(self._now_s, until_s)

    def _next(self) -> tuple[float, Callable[[], None]]:
        """Return the time of the next event, and the event."""
        at_s, act = self._agenda.next_s, self._agenda.happen
        for query in self._queries:
            if query.batch and query.batch.ends_s < at_s:
                at_s, act = query.batch.ends_s, partial(self._commit, query)
        if not self._pool.running:
            return at_s, act
        for query in self._queries:
            batch = query.batch
            if batch and len(self._queries) > 1 and self._now_s < batch.works_from_s < at_s:
                at_s, act = batch.works_from_s, lambda: None  # only the sharing of slots changes
        for query in self._queries:
            starts_s = query.starts_s(self._now_s)
            if starts_s < at_s:
                at_s, act = starts_s, partial(self._start, query)
        return at_s, act

    def _start(self, query: MicroBatchQuery) -> None:
        running = self._pool.running
        first_task = any(each.executor_id in self._unused for each in running)
        query.start(self._now_s, running, self._hung_s, first_task=first_task)
        self._unused.clear()

    def _commit(self, query: MicroBatchQuery) -> None:
        assert query.batch is not None
        query.commit(query.batch)
        if query.changing:
            self._stop(query, query.changing, self._now_s)
        self._gap()

    def _gap(self) -> None:
        if not any(query.batch for query in self._queries):
            self._scaling.gap(self._now_s)

    def _join(self) -> None:
        came, self._pool.came = self._pool.came, []
        for newcomer in came:
            if not any([query.join(newcomer, self._now_s, self._pool.running) for query in self._queries]):
                self._unused.add(newcomer.executor_id)

    def _pay(self) -> None:
        for query in self._queries:
            query.diary.paid(self._now_s, self._pool.paid)

    def _share_out(self) -> None:
        """Distribute the slots to the batches whose tasks run now: evenly in FAIR pools, else in the order in which they started."""
        if len(self._queries) == 1:
            return
        at_work = sorted(
            ((query.batch, query) for query in self._queries if query.batch and query.batch.works_from_s <= self._now_s), key=lambda each: each[0].works_from_s
        )
        slots = float(max(1, len(self._pool.running)) * self._shared.cores_per_executor)
        wanted = [min(float(query.settings.partitions), slots) for _, query in at_work]
        got = SCHEDULERS[self._graph.scheduler](wanted, slots)
        for (batch, query), most, given in zip(at_work, wanted, got, strict=True):
            query.batch = batch.at_speed(given / most, self._now_s)

    def strike(self, fault: Fault) -> str | None:
        victim = self._strike(self._strikes, replace(fault, at_s=self._now_s), self._now_s)
        self._strikes += 1
        self._share_out()
        self._pay()
        return victim

    def _strike(self, number: int, fault: Fault, at_s: float) -> str | None:
        for query in self._queries:
            unhurt = query.is_idle(at_s) if fault.query is None else query.name != fault.query
            query.record.struck.append(Struck(at_s=fault.at_s, kind=fault.kind, recovered_s=fault.at_s if unhurt and len(self._queries) > 1 else None))
        if fault.kind == "restart":
            self._fail(at_s, fault.query)
            return None
        if not self._pool.running:
            return None
        place = int(float(uniform(key_of(self._seed, VICTIMS), np.array([number]))[0]) * len(self._pool.running))
        victim = self._pool.running[place].executor_id
        if fault.kind == "kill":
            self._lose(victim, at_s)
        else:
            self._freeze(victim, at_s, fault.duration_s)
        return victim

    def _freeze(self, executor_id: str, at_s: float, duration_s: float | None) -> None:
        """Its tasks hang until it goes on after the duration, or is lost when that is noticed."""
        noticed = duration_s is None or duration_s >= self._shared.timeout_s
        until_s = at_s + (self._shared.timeout_s if noticed or duration_s is None else duration_s)
        self._frozen[executor_id] = (at_s, until_s)
        self._hang()

        def ends(now_s: float) -> None:
            if self._frozen.get(executor_id) == (at_s, until_s):
                (self._lose if noticed else self._thaw)(executor_id, now_s)

        self._agenda.add(until_s, ends)

    def _hang(self) -> None:
        for query in self._queries:
            query.batch = query.batch.hung(self._hung_s) if query.batch else None

    @property
    def _hung_s(self) -> float:
        """Until when a batch waits for the tasks of frozen executors."""
        return max((until_s for _, until_s in self._frozen.values()), default=self._now_s)

    def thaw(self, executor_id: str) -> None:
        if executor_id in self._frozen:
            self._thaw(executor_id, self._now_s)

    def _thaw(self, executor_id: str, at_s: float) -> None:
        """Its tasks go on where they were: batches take longer by as long as it was frozen while they ran."""
        since_s, _ = self._frozen.pop(executor_id)
        for query in self._queries:
            if query.batch:
                query.batch = replace(query.batch, hung_s=-math.inf).longer(at_s - max(since_s, query.batch.started_s))
        self._hang()

    def _fail(self, at_s: float, name: str | None) -> None:
        """Fail the query of this name, or all of them, and restart it on the same executors."""
        for query in self._queries:
            back_s = query.fail(at_s) if name in (None, query.name) else None
            if back_s is not None:
                self._agenda.add(back_s, query.come_back)
        self._gap()

    def _lose(self, executor_id: str, at_s: float) -> None:
        """Lose an executor: the others repeat its tasks of the running batches, or the new one all of them, and another one is started."""
        self._frozen.pop(executor_id, None)
        if not self._pool.lose(executor_id, at_s):
            return
        self._scaling.replace_lost(at_s)
        left, shared = len(self._pool.running), self._shared
        for query in self._queries:
            batch = query.batch
            if batch and executor_id in batch.crew.everyone:
                again_s = at_s + shared.replace_s + shared.retry_s
                query.batch = batch.without(executor_id, left, shared.retry_s) if left else batch.again(again_s)

    def perform(self, instruction: Instruction, report: Callable[[Outcome], None]) -> None:
        queries = {query.name: query for query in self._queries}
        under_way = [target for each in self._queries if each.changing for target in each.changing.instruction.targets]
        refused = refusal(instruction, queries, [*under_way, *(["executors"] * self._scaling.is_under_way)], misfit)
        if refused:
            report(Outcome(number=instruction.number, done=False, took_s=0.0, reason=refused))
            return
        for part, part_report in alone(instruction, report):
            if part.change.executors is not None:
                self._scaling.ask(part.number, part.change.executors[1], part_report, self._now_s, torn=self._torn)
                self._gap()
                self._pay()
            else:
                self._change(queries[part.change.queries[0]], part, part_report)

    def _change(self, query: MicroBatchQuery, instruction: Instruction, report: Callable[[Outcome], None]) -> None:
        """Stop a query after the commit of the batch that runs, or when nothing waits for that any longer."""
        changing = query.changing = Changing(instruction=instruction, report=report, asked_s=self._now_s)
        if query.batch:
            given_up_s = self._now_s + query.settings.commit_wait_s
            self._agenda.add(given_up_s, lambda at_s: self._stop(query, changing, at_s) if query.changing is changing else None)
        else:
            self._stop(query, changing, self._now_s)

    def _torn(self, executors: int) -> None:
        """Repeat the work of executors that left in the middle of a batch on the others."""
        for query in self._queries:
            if query.batch and executors:
                query.batch = query.batch.longer(query.batch.work_s * executors / len(self._pool.running))

    def _stop(self, query: MicroBatchQuery, changing: Changing, at_s: float) -> None:
        self._agenda.add(query.stop(changing, at_s), query.restart)

    def observation(self) -> Observation:
        return Observation(
            at_s=self._now_s,
            started_s=self._start_s,
            disturbed_s=max(self._pool.changed_s, *(query.disturbed_s for query in self._queries)),
            executors_requested=self._pool.requested,
            executors=tuple(
                ExecutorFact(executor_id=each.executor_id, host="simulated", slots=self._shared.cores_per_executor, added_s=each.added_s)
                for each in self._pool.running
            ),
            queries=tuple(query.facts(self._now_s) for query in self._queries),
            executors_lost=self._pool.lost,
            cpu=self._cpu(),
        )

    def _cpu(self) -> CpuWanted | None:
        """Return the CPU time that the job wanted and that others took, as if its driver and all its tasks computed all the time; None without contention."""
        ran_s, contention = self._now_s - self._start_s, self._shared.contention
        taken_s = sum(each.share * max(0.0, min(ran_s, each.until_s) - each.from_s) for each in contention)
        return CpuWanted(wanted_s=MOST_THREADS * ran_s, taken_s=MOST_THREADS * taken_s) if contention else None
