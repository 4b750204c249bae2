"""Events of the autopilot: one frozen class for each, with numbers inside; text is rendered last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from penstock.core.domain.autopilot import Mode
from penstock.core.domain.configuration import Change, Configuration, difference
from penstock.core.domain.decision import Comparison, Decision, Effect, executors_words, short
from penstock.core.domain.events.event import Event
from penstock.core.domain.prediction import UNITS, Prediction, PredictionKind, subject
from penstock.core.domain.units import duration_words

EFFECTS: dict[Effect, str] = {
    "shadow": "in shadow: nothing was changed",
    "proposed": "proposed, waiting for an answer",
    "approved": "approved",
    "asked": "instructed",
    "held": "an operator holds it",
    "guarded": "a guard kept the configuration",
}
End = Literal["approved", "rejected", "expired", "superseded", "withdrawn"]
Phase = Literal["analyze", "plan"]
RollbackReason = Literal["broken_promises", "wrong_predictions", "blind", "policy_fails"]
NEXT_TO_NOTHING = 1.0
"""In rows/s or s: a smaller prediction is right where the actual value is 0."""
THROUGHPUT = "throughput"
"""The target that needs no promise: to carry what arrives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AutopilotEvent(Event):
    """An event of a turn. `policy` is the one that decides, by its whole name ("auto:daedalus"); empty in observe.

    Of a proposal or a prediction it is the policy that made it, of a failed phase the one that failed, else the one that decided last.
    """

    policy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequence(AutopilotEvent):
    """An event that follows from a decision; `decision_id` is None where no decision of the policy caused it."""

    decision_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided(AutopilotEvent):
    """A recorded decision. `id` identifies it in proposals, instructions, outcomes, predictions, grades, roll-backs and explanations."""

    id: int
    policy: str
    mode: Mode
    decision: Decision
    effect: Effect
    load_rows_per_s: float | None = None
    capacity_rows_per_s: float | None = None
    capacity_why: str | None = None
    peak_rows_per_s: float | None = None
    others: tuple[Prediction, ...] = ()

    @property
    def predictions(self) -> tuple[Prediction, ...]:
        """All that was predicted: `others` (the load, the latency that guards go by), then what the chosen candidate carries."""
        return (*self.others, *(made for candidate in self.decision.candidates for made in candidate.predictions))

    def words(self) -> str:
        why = "; ".join(each.words() for each in (self.decision.why, *self.decision.guards))
        effect = "" if self.effect == "kept" else f" ({EFFECTS[self.effect]})"
        if self.decision.direction == "keep":
            keeps = "would keep" if self.mode == "shadow" else "keeps"
            return f"{self.policy} {keeps} {executors_words(self.decision.current.executors)}: {why}{effect}"
        return f"{self.policy}: {self.decision.change.words()}, {why}{effect}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed(Consequence):
    policy: str
    proposal: int
    change: Change
    expires_s: float

    def words(self) -> str:
        left = duration_words(round(self.expires_s - self.at_s))
        return f"proposal {self.proposal} of {self.policy}: {self.change.words()}; penstock approve {self.proposal}, within {left}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalEnded(Consequence):
    proposal: int
    how: End
    who: str = ""

    def words(self) -> str:
        how = {"expired": "not answered in time", "superseded": "replaced by another", "withdrawn": "withdrawn"}.get(self.how, self.how)
        return f"proposal {self.proposal}{naming(' of ', self.policy)} was {how}{naming(' by ', self.who)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyPaused(AutopilotEvent):
    who: str
    until_s: float | None
    reason: str = ""

    def words(self) -> str:
        span = "until it is resumed" if self.until_s is None else f"for {duration_words(round(self.until_s - self.at_s))}"
        return f"{self.who} paused the policy{naming(' ', self.policy)} {span}{f': {self.reason}' if self.reason else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyResumed(AutopilotEvent):
    who: str

    def words(self) -> str:
        return f"{self.who} resumed the policy{naming(' ', self.policy)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledBack(Consequence):
    trouble: ClassVar[bool] = True
    reason: RollbackReason
    before: Configuration
    configuration: Configuration
    value: float | None = None
    limit: float | None = None

    def words(self) -> str:
        change = difference(self.before, self.configuration)
        harm = "moved its knobs" if any(move.knob != "executors" for move in change.moves) else "reduced the executors"
        why = {
            "broken_promises": f"{short(self.value)} promises were broken after it had {harm}",
            "wrong_predictions": f"its predictions were off by {'?' if self.value is None else f'{self.value:.0%}'} on average",
            "blind": f"no reading came for {short(self.value)} s",
            "policy_fails": f"the policy failed {short(self.value)} times in a row",
        }[self.reason]
        who = f"{self.policy} was " if self.policy else ""
        return f"{who}rolled back, {change.words() if change else f'executors stay {self.before.executors}'}: {why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingIneffective(Consequence):
    """`kept`: an operator holds the executors or has paused the policy, or the owner allows no fewer now."""

    trouble: ClassVar[bool] = True
    change: Change
    throughput_before_rows_per_s: float
    throughput_after_rows_per_s: float
    bottleneck: Comparison
    kept: bool = False

    def words(self) -> str:
        moved = f"{short(self.throughput_before_rows_per_s)} -> {short(self.throughput_after_rows_per_s)} rows/s"
        now = "kept" if self.kept else "taken back"
        return f"{self.change.words()}{naming(' of ', self.policy)} had no effect ({moved}), {now}: {self.bottleneck.words()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetInfeasible(AutopilotEvent):
    trouble: ClassVar[bool] = True
    target: str
    why: Comparison

    def words(self) -> str:
        return f"no number of executors can {'carry the load' if self.target == THROUGHPUT else f'keep the promised {self.target}'}: {self.why.words()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFeasible(AutopilotEvent):
    target: str

    def words(self) -> str:
        return "the load can be carried again" if self.target == THROUGHPUT else f"the promised {self.target} can be kept again"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseBroken(Consequence):
    trouble: ClassVar[bool] = True
    promise: str
    value: float
    limit: float

    def words(self) -> str:
        return f"promise broken{naming(' under ', self.policy)}: {self.promise} {short(self.value)} s, {short(self.limit)} s were promised"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseKept(AutopilotEvent):
    promise: str

    def words(self) -> str:
        return f"promise kept again{naming(' under ', self.policy)}: {self.promise}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded(Consequence):
    """A graded prediction; `prediction` is its id."""

    prediction: str = ""
    kind: PredictionKind
    about: str
    made_s: float
    predicted: float
    low: float
    high: float
    actual: float
    configuration: Configuration

    @property
    def is_within(self) -> bool:
        return self.low <= self.actual <= self.high

    @property
    def error(self) -> float:
        """The relative error; if the actual value is 0, it is 1 unless the prediction is near 0 too. A value below a bound is no error.

        >>> from dataclasses import replace
        >>> two = Configuration(executors=2)
        >>> one = Graded(at_s=9, kind="forecast", about="60 s", made_s=0, predicted=5000, low=0, high=9000, actual=4000, configuration=two)
        >>> one.error, replace(one, actual=0).error, replace(one, actual=0, predicted=0.2).error
        (0.25, 1.0, 0.0)
        """
        if self.kind == "recovery_bound" and self.actual <= self.predicted:
            return 0.0
        if self.actual:
            return abs(self.predicted - self.actual) / abs(self.actual)
        return 1.0 if abs(self.predicted) >= NEXT_TO_NOTHING else 0.0

    def words(self) -> str:
        of_executors = f" of {executors_words(self.configuration.executors)}" if self.kind in ("capacity", "latency") else ""
        predicted = f"was predicted{naming(' by ', self.policy)} as {short(self.predicted)} {UNITS[self.kind]}"
        return f"{subject(self.kind, self.about)}{of_executors} {predicted}, it was {short(self.actual)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered(Consequence):
    kind: str
    started_s: float
    took_s: float
    alone: bool

    def words(self) -> str:
        return f"recovered from {self.kind.replace('_', ' ')} after {duration_words(round(self.took_s, 1))}{naming(' under ', self.policy)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseFailed(AutopilotEvent):
    trouble: ClassVar[bool] = True
    phase: Phase
    error: str
    in_a_row: int

    def words(self) -> str:
        return f"the {self.phase} phase{naming(' of ', self.policy)} failed and was skipped, {self.in_a_row} in a row: {self.error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FitTaken(AutopilotEvent):
    fit_number: int
    took_s: float

    def words(self) -> str:
        return f"fit {self.fit_number}{naming(' for ', self.policy)} was taken in, it took {short(self.took_s)} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class FitFailed(AutopilotEvent):
    trouble: ClassVar[bool] = True
    fit_number: int
    reason: str

    def words(self) -> str:
        return f"fit {self.fit_number}{naming(' for ', self.policy)} failed: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutopilotChanged(Event):
    """`changes` are key, value before, value now; `needs_restart` names what else differs in the file and waits for the next start."""

    changes: tuple[tuple[str, str, str], ...]
    needs_restart: tuple[str, ...] = ()

    def words(self) -> str:
        taken = "; ".join(f"{key} {before} -> {now}" for key, before, now in self.changes)
        later = f"; needs a restart: {', '.join(self.needs_restart)}" if self.needs_restart else ""
        return f"the job file changed: {taken or 'nothing in [autopilot]'}{later}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutopilotRefused(Event):
    trouble: ClassVar[bool] = True
    reason: str

    def words(self) -> str:
        return f"the job file changed and has a mistake, the old one stays: {self.reason}"


def naming(before: str, name: str) -> str:
    """Return the words followed by the name; empty without a name.

    >>> naming(" under ", "auto:daedalus"), naming(" under ", "")
    (' under auto:daedalus', '')
    """
    return f"{before}{name}" if name else ""
