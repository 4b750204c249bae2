"""What happened: one frozen class an event, numbers inside, words made last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.core.domain.units import count_words, duration_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something worth remembering, at a moment; `trouble` is whether somebody should look at it."""

    trouble: ClassVar[bool] = False
    at_s: float

    def words(self) -> str:
        """The event as a sentence for people; nothing ever parses it."""
        raise TypeError(f"{type(self).__name__} has no words")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    job: str
    master: str
    mode: str
    spark_version: str
    resumed: bool
    max_executors: int | None = None
    latency_p95_s: float | None = None
    recovery_s: float | None = None

    def words(self) -> str:
        again = " again, with what it knew" if self.resumed else ""
        return f"job {self.job} runs{again} on {self.master}, Spark {self.spark_version}, mode {self.mode}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(Event):
    job: str
    reason: str

    def words(self) -> str:
        return f"job {self.job} ended: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToDo(Event):
    """A turn that changed nothing; runs of them are folded into one row."""

    reason: str = "as desired"

    def words(self) -> str:
        return f"nothing to do: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFailed(Event):
    trouble: ClassVar[bool] = True
    error: str

    def words(self) -> str:
        return f"a turn of the loop failed and was skipped: {self.error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideWorkFailed(Event):
    """Something failed that the controller does beside its turns; the turn itself was not touched by it."""

    trouble: ClassVar[bool] = True
    what: str
    error: str

    def words(self) -> str:
        return f"{self.what} failed, the loop goes on: {self.error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTaken(Event):
    who: str
    knob: str
    value: str
    held_until_s: float

    def words(self) -> str:
        return f"{self.who} set {self.knob} to {self.value}, held for {duration_words(round(self.held_until_s - self.at_s))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRefused(Event):
    who: str
    knob: str
    value: str
    reason: str

    def words(self) -> str:
        return f"{self.who} asked for {self.knob} {self.value}; refused: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldEnded(Event):
    knob: str
    value: str
    expired: bool

    def words(self) -> str:
        return f"the hold of {self.knob} at {self.value} {'has run out' if self.expired else 'was released'}; the value stays until somebody decides"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionGiven(Event):
    number: int
    knob: str
    before: str
    after: str
    reason: str

    def words(self) -> str:
        return f"{self.knob}: {self.before} -> {self.after} ({self.reason})"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionDone(Event):
    number: int
    knob: str
    took_s: float
    delayed_rows: float | None
    note: str = ""

    def words(self) -> str:
        cost = "unknown delay" if self.delayed_rows is None else f"{count_words(self.delayed_rows)} rows delayed"
        return f"{self.knob} done in {self.took_s:.1f} s, {cost}" + (f"; {self.note}" if self.note else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionFailed(Event):
    trouble: ClassVar[bool] = True
    number: int
    knob: str
    took_s: float
    reason: str

    def words(self) -> str:
        return f"{self.knob} not done after {self.took_s:.1f} s: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorsMissing(Event):
    """Executors that have not come; `number` is the instruction that waited for them, None if they were lost later."""

    trouble: ClassVar[bool] = True
    requested: int
    running: int
    waited_s: float
    number: int | None = None

    def words(self) -> str:
        return f"{self.requested} executors were asked for, {self.running} run after {duration_words(round(self.waited_s))}: going on with those"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorsComplete(Event):
    running: int

    def words(self) -> str:
        return f"all {self.running} executors run"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorLost(Event):
    trouble: ClassVar[bool] = True
    executor_id: str
    reason: str

    def words(self) -> str:
        return f"executor {self.executor_id} was lost: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStarted(Event):
    query: str
    trigger: str

    def words(self) -> str:
        return f"query {self.query} started, trigger {self.trigger}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFailed(Event):
    trouble: ClassVar[bool] = True
    query: str
    cause: str
    traceback: str = ""

    def words(self) -> str:
        return f"query {self.query} failed: {self.cause}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRestarted(Event):
    query: str
    attempt: int
    downtime_s: float
    cause: str
    replayed_rows: float | None = None

    def words(self) -> str:
        replayed = "" if self.replayed_rows is None else f", {count_words(self.replayed_rows)} rows replayed"
        return f"query {self.query} restarted from its checkpoint (restart {self.attempt}), down {self.downtime_s:.1f} s{replayed}, because: {self.cause}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryGivenUp(Event):
    trouble: ClassVar[bool] = True
    query: str
    restarts: int
    cause: str
    reason: str

    def words(self) -> str:
        return f"query {self.query} is given up after {self.restarts} restarts ({self.reason}): {self.cause}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryUnwatched(Event):
    """The supervisor could not do for a query what was to be done."""

    trouble: ClassVar[bool] = True
    query: str
    cause: str

    def words(self) -> str:
        return f"query {self.query} could not be looked after, which is tried again: {self.cause}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryEnded(Event):
    query: str
    reason: str

    def words(self) -> str:
        return f"query {self.query} ended: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSkewed(Event):
    trouble: ClassVar[bool] = True
    query: str
    skew_s: float

    def words(self) -> str:
        return f"records of {self.query} arrive {self.skew_s:.1f} s in the future: clocks disagree, latency is not used"


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyUnknown(Event):
    """Why the latency that Real-Time Mode measures at the sink cannot be measured."""

    trouble: ClassVar[bool] = True
    query: str
    reason: str

    def words(self) -> str:
        return f"the latency of {self.query} at its sink is unknown: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuUnknown(Event):
    """Why whoever was to tell the CPU of executors tells nothing; None, in older histories, is what `CpuKnown` says."""

    trouble: ClassVar[bool] = True
    problem: str | None

    def words(self) -> str:
        return "the CPU of executors is known again" if self.problem is None else f"the CPU of executors is unknown: {self.problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuKnown(Event):
    def words(self) -> str:
        return "the CPU of executors is known again"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRateSet(Event):
    source: str
    who: str
    rows_per_s: float | None

    def words(self) -> str:
        what = "follows its trace again" if self.rows_per_s is None else f"sends {count_words(self.rows_per_s)} rows/s"
        return f"{self.who}: source {self.source} {what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorFound(Event):
    """Which Kafka connector is used, and why it is not the one of this Spark."""

    line: str

    def words(self) -> str:
        return self.line


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedBehind(Event):
    trouble: ClassVar[bool] = True
    topic: str
    behind_rows: float
    behind_s: float

    def words(self) -> str:
        return f"the feeder of {self.topic} cannot keep up: {count_words(self.behind_rows)} rows, {self.behind_s:.1f} s behind its trace"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedCaughtUp(Event):
    topic: str

    def words(self) -> str:
        return f"the feeder of {self.topic} keeps up again"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedFailed(Event):
    trouble: ClassVar[bool] = True
    topic: str
    reason: str

    def words(self) -> str:
        return f"the feeder of {self.topic} ended: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEnded(Event):
    topic: str
    sent_rows: float
    worst_behind_s: float

    def words(self) -> str:
        return f"the feeder of {self.topic} sent {count_words(self.sent_rows)} rows, never more than {self.worst_behind_s:.1f} s behind its trace"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLost(Event):
    trouble: ClassVar[bool] = True
    reason: str

    def words(self) -> str:
        return f"Penstock cannot remember ({self.reason}); the job and its observation go on"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRegained(Event):
    forgotten: int

    def words(self) -> str:
        return f"Penstock remembers again; {self.forgotten} rows of history were lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFailed(Event):
    trouble: ClassVar[bool] = True
    reason: str

    def words(self) -> str:
        return f"no snapshot of the history beside the checkpoint: {self.reason}; tried again later"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseNotRenewed(Event):
    """The lease could not be signed, to renew it or to give it back."""

    trouble: ClassVar[bool] = True
    reason: str

    def words(self) -> str:
        return f"the lease beside the checkpoint could not be signed: {self.reason}; it runs out unless a later try succeeds"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryReplaced(Event):
    """At the start: the history beside the checkpoint went further than the one here, which is kept at `aside`."""

    aside: str

    def words(self) -> str:
        return f"the history beside the checkpoint is newer than the one here, as the job ran elsewhere: it goes on from that; this one is now {self.aside}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseLost(Event):
    trouble: ClassVar[bool] = True
    holder: str

    def words(self) -> str:
        return f"{self.holder} has taken over this job: this driver stops"


@dataclass(frozen=True, slots=True, kw_only=True)
class CannotDo(Event):
    """Said once at the start of an attached query: what Penstock cannot do for it, and what would change that."""

    query: str
    what: str
    remedy: str

    def words(self) -> str:
        return f"query {self.query}: cannot change {self.what}; {self.remedy}"


def event_classes() -> dict[str, type[Event]]:
    """Every kind of event by its name."""
    return {cls.__name__: cls for cls in Event.__subclasses__()}
