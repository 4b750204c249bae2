"""The facts of one query: its commits with their stages, its positions, what its tasks have read, and what its sink received."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from penstock.core.domain.events.event import Event
from penstock.core.domain.events.query_events import LatencyUnknown
from penstock.core.errors import NotReachable, PenstockError
from penstock.core.monitor.facts import BatchFact, OutputSample, PartitionFact, QueryFacts, StageFact
from penstock.kafka.options import client_options
from penstock.kafka.tail import TopicTail
from penstock.kafka.topics import partitions_of
from penstock.ports import Clock
from penstock.spark.jvm import StatusStore
from penstock.spark.positions import KafkaPositions, Place, between, where
from penstock.spark.progress import Progress, batch_fact, batch_of_job, parse_stage
from penstock.spark.query import ManagedQuery

ANSWER_S = 3.0
UNREADABLE_AT_LEAST = 20


class QueryReader:
    """Reads one query. `heartbeat_s` is how often executors report what their tasks have read."""

    def __init__(
        self, query: ManagedQuery, store: StatusStore, clock: Clock, *, heartbeat_s: float, default_partitions: Callable[[], int], say: Callable[[Event], None]
    ) -> None:
        self.query = query
        self._clock = clock
        self._heartbeat_s = heartbeat_s
        self._default_partitions = default_partitions
        self._say = say
        self._stages = StageReader(store)
        self._order: tuple[str, ...] = ()
        self._tail: TopicTail | None = None
        self._mute = False

    def facts(self) -> QueryFacts:
        query, settings = self.query, self.query.settings
        reads_kafka = any(isinstance(each, KafkaPositions) for each in query.recipe.positions)
        if (query.is_real_time or reads_kafka) and query.is_active:
            query.live.look(str(query.query.runId))
        beyond = query.live.beyond(query.committed_batch)
        asked_s = self._clock.now_s()
        place = where(query.recipe.positions, query.processed_offsets())
        counted_s = (asked_s + self._clock.now_s()) / 2
        batches = self._batches()
        last = query.commits.last
        facts = QueryFacts(
            name=query.name, state=query.state, trigger=settings.trigger, rate_limit_rows_per_s=settings.rate_limit_rows_per_s, started_s=query.started_s,
            batches=batches, idle_s=query.commits.idle_s, newest_rows=place.newest_rows, processed_rows=place.processed_rows,
            oldest_waiting_s=place.oldest_waiting_s,
            partitions=(last.state_partitions if last else None) or settings.partitions or self._default_partitions(), failures=len(query.failures),
            unable=query.recipe.unable, in_batch_rows=None if beyond is None else float(beyond.rows_in_all),
            source_partitions=self._partitions(place, beyond.rows if beyond and query.is_real_time else ()) if reads_kafka else (),
            replayed_rows=query.live.replayed_rows, counted_s=counted_s, slots_held=query.slots_held,
        )  # fmt: skip
        return self._as_it_flows(facts) if query.is_real_time else facts

    def _as_it_flows(self, facts: QueryFacts) -> QueryFacts:
        """Return the facts in Real-Time Mode, where rows are processed as they are read, long before their batch commits."""
        live = self.query.live
        processed = None if facts.processed_rows is None else facts.processed_rows + (facts.in_batch_rows or 0.0)
        return replace(
            facts, processed_rows=processed, read_rows=live.read_rows, executor_rows=live.by_executor, stale_s=self._heartbeat_s / 2, outputs=self._outputs()
        )

    def _partitions(self, place: Place, in_batch: tuple[int, ...]) -> tuple[PartitionFact, ...]:
        if place.newest is None:
            return ()
        names = sorted(place.newest, key=natural)
        order = self._order if set(self._order) == set(names) else tuple(names)
        more = dict(zip(order, in_batch, strict=False)) if len(in_batch) == len(order) else {}
        processed: Mapping[str, float] = place.processed or {}
        return tuple(
            PartitionFact(name=name, newest_rows=place.newest[name], processed_rows=processed[name] + more.get(name, 0.0) if name in processed else None)
            for name in names
        )

    def _batches(self) -> tuple[BatchFact, ...]:
        reports = self.query.commits.take()
        stages: dict[tuple[str, int], tuple[StageFact, ...]] = {}
        for run_id in {report.run_id for report in reports}:
            wanted = {report.batch_id for report in reports if report.run_id == run_id}
            stages |= {(run_id, batch): found for batch, found in self._stages.stages_of(run_id, wanted).items()}
        facts = tuple(self._batch(report, stages.get((report.run_id, report.batch_id), ())) for report in reports)
        if reports:
            self.query.live.forget_before(reports[-1].batch_id)
        return facts

    def _batch(self, report: Progress, stages: tuple[StageFact, ...]) -> BatchFact:
        live, rows = self.query.live, between(self.query.recipe.positions, report.start_offsets, report.end_offsets)
        tasks = live.tasks_of(report.batch_id)
        if tasks is not None and rows:
            self._order = order_of(tasks.rows, rows) or self._order
        total = None if rows is None else sum(rows.values())
        fact = batch_fact(report, rows=total, stages=stages)
        return replace(fact, pause_s=live.pause_before_s(report.batch_id)) if self.query.is_real_time else fact

    def _outputs(self) -> tuple[OutputSample, ...]:
        if self._tail is None and not self._mute:
            self._tail = self._open_tail()
        if self._tail is None:
            return ()
        samples = tuple(self._tail.take())
        if not samples and self._tail.unreadable > UNREADABLE_AT_LEAST:
            output = self.query.recipe.output
            field = output.arrival_field if output else ""
            self._give_up_tail(f'its output records have no field or header "{field}": carry the arrival time in one, and name it as the sink\'s arrival_field')
        return samples

    def _open_tail(self) -> TopicTail | None:
        output = self.query.recipe.output
        if output is None:
            self._give_up_tail("only a Kafka sink with one topic can be looked at")
            return None
        try:
            client = client_options(output.client)
            partitions = partitions_of(client, ANSWER_S).get(output.topic)
        except NotReachable:
            return None
        except PenstockError as error:
            self._give_up_tail(str(error))
            return None
        return None if partitions is None else TopicTail(client, output.topic, partitions, output.arrival_field)

    def _give_up_tail(self, why: str) -> None:
        self._mute = True
        self.close()
        self._say(LatencyUnknown(at_s=self._clock.now_s(), query=self.query.name, reason=why))

    def close(self) -> None:
        if self._tail is not None:
            self._tail.close()
            self._tail = None


class StageReader:
    """Reads the stages of the Spark jobs of one query, each job once."""

    def __init__(self, store: StatusStore) -> None:
        self._store = store
        self._seen: dict[str, int] = {}

    def stages_of(self, run_id: str, batches: set[int]) -> dict[int, tuple[StageFact, ...]]:
        """Return the stages of these committed batches, by batch, in the order in which they ran."""
        last = self._seen.get(run_id, -1)
        stages: dict[int, list[tuple[dict[str, dict[str, int]], float]]] = {}
        for job_id in self._store.job_ids(run_id):
            if job_id <= last:
                continue
            job = self._store.job(job_id)
            batch = None if job is None else batch_of_job(job)
            if job is None or batch is None or (batches and batch > max(batches)):
                continue
            self._seen = {run_id: max(job_id, self._seen.get(run_id, -1))}
            if batch in batches:
                shares = (self._store.stage_shares(stage_id) for stage_id in sorted(job["stageIds"]))
                stages.setdefault(batch, []).extend(share for share in shares if share and share[0])
        return {batch: tuple(parse_stage(position, *share) for position, share in enumerate(found)) for batch, found in stages.items()}


def order_of(task_rows: Sequence[int], partition_rows: Mapping[str, float]) -> tuple[str, ...] | None:
    """Return the partitions in the order of the tasks that read them, matched by row counts; None if the counts differ.

    Spark does not say which task reads which partition, but a finished batch shows it. Partitions with the same count are ordered by name.

    >>> order_of([7, 9, 8], {"clicks-0": 8.0, "clicks-1": 7.0, "clicks-2": 9.0})
    ('clicks-1', 'clicks-2', 'clicks-0')
    """
    with_count: dict[float, list[str]] = defaultdict(list)
    for name in sorted(partition_rows, key=natural):
        with_count[partition_rows[name]].append(name)
    if sorted(task_rows) != sorted(partition_rows.values()):
        return None
    return tuple(with_count[rows].pop(0) for rows in task_rows)


def natural(name: str) -> tuple[str, int]:
    """Sort key that puts partition 10 after partition 9.

    >>> sorted(["clicks-10", "clicks-9"], key=natural)
    ['clicks-9', 'clicks-10']
    """
    topic, _, number = name.rpartition("-")
    return topic, int(number) if number.isdigit() else 0
