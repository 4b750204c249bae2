"""What the controller knows between two turns, as frozen values that survive it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from penstock.core.domain.autopilot import Mode
from penstock.core.domain.configuration import Configuration, QueryConfiguration
from penstock.core.domain.instruction import Instruction
from penstock.core.domain.job_spec import Limits
from penstock.core.domain.knobs import knob_at
from penstock.core.domain.prediction import Prediction
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.learnt import Learnt
from penstock.core.knowledge.steering import Applied, Effects, Fits, Outlook, Proposals, Schedule, Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """An operator's value for one knob, held until `until_s`; `knob` is its address."""

    knob: str
    value: str
    who: str
    until_s: float

    @property
    def query(self) -> str | None:
        return knob_at(self.knob)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """The decision that a desired value comes from; `before` are the partitions as they were before it, which nothing else remembers."""

    decision_id: int
    policy: str
    before: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """An instruction under way."""

    instruction: Instruction
    since_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Requested executors that do not run. `stuck` is how many ran when a rescale failed: surplus up to that number is left alone."""

    since_s: float | None = None
    reported: bool = False
    stuck: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What the controller knows. `declared` is what the job file said when `desired` was formed: a changed file wins over stored values.

    `authors` names, by address, the decisions that desired values come from. `applied` are the last changes that were instructed. `began_s` is when this run
    of the controller began: it counts as blind from then until its first reading (`last`).
    """

    declared: Configuration
    desired: Configuration
    authors: Mapping[str, Author] = field(default_factory=dict)
    holds: tuple[Hold, ...] = ()
    pending: tuple[Pending, ...] = ()
    applied: tuple[Applied, ...] = ()
    next_number: int = 1
    missing: Missing = Missing()
    last: Reading | None = None
    began_s: float | None = None
    learnt: Learnt = field(default_factory=Learnt)
    outlook: Outlook = field(default_factory=Outlook)
    schedule: Schedule = field(default_factory=Schedule)
    trust: Trust = field(default_factory=Trust)
    proposals: Proposals = field(default_factory=Proposals)
    effects: Effects = field(default_factory=Effects)
    fits: Fits = field(default_factory=Fits)
    predictions: tuple[Prediction, ...] = ()

    @property
    def is_rescaling(self) -> bool:
        """Whether a change of executors is under way."""
        return any("executors" in pending.instruction.targets for pending in self.pending)

    @property
    def newest_author(self) -> Author | None:
        """The newest decision that a desired value comes from."""
        return max(self.authors.values(), key=lambda author: author.decision_id, default=None)

    @property
    def rescale(self) -> Applied | None:
        """The last change of executors."""
        return next((each for each in reversed(self.applied) if each.change.executors is not None), None)

    def steered(self, mode: Mode) -> Configuration:
        """Return the configuration that the policy steers: the desired one, or its own in shadow."""
        shadow = self.schedule.shadow if mode == "shadow" else None
        return self.desired if shadow is None else shadow.on(self.desired)

    def is_held(self, address: str) -> bool:
        """Return whether an operator holds the knob at an address."""
        return any(hold.knob == address for hold in self.holds)

    def wanting(self, configuration: Configuration, author: Author | None = None) -> Self:
        """Return knowledge in which this configuration is desired; what was reported about missing executors is forgotten where their number moves."""
        whole = configuration.over(self.desired)
        moved = [address for address in whole.addresses() if whole.of(address) != self.desired.of(address)]
        authors = {address: each for address, each in self.authors.items() if address not in moved}
        if author is not None:
            authors |= {address: replace(author, before=self._value_before(address)) for address in moved}
        return replace(self, desired=whole, authors=authors, missing=Missing() if "executors" in moved else self.missing)

    def _value_before(self, address: str) -> int | None:
        """Return the value in the checkpoint before the decisions in a row that moved it; None for another knob, or where it was never read."""
        if not knob_at(address)[0].in_checkpoint or self.last is None:
            return None
        earlier: int | None = self.desired.known_in(self.last.configuration).of(address)
        return self.authors[address].before if address in self.authors else earlier


def begin(declared: Configuration, remembered: Knowledge | None, limits: Limits, at_s: float | None = None) -> Knowledge:
    """Return the knowledge a controller starts with: what an earlier one left, except for knobs whose declaration or limits have changed since.

    Loads, recoveries under way, with what was predicted of them, and the time for which a promise was broken do not survive: they would count the time
    in which the job did not run.
    """
    if remembered is None:
        return Knowledge(declared=declared, desired=declared, began_s=at_s)
    desired = still_desired(declared, remembered)
    desired = replace(desired, executors=min(max(desired.executors, limits.min_executors), limits.max_executors))
    held = still_held(desired, remembered)
    learnt, outlook, schedule = remembered.learnt, remembered.outlook, replace(remembered.schedule, loads={})
    if at_s is not None and max(each for each in (schedule.decided_s, learnt.learnt_s, outlook.made_s, at_s) if each is not None) > at_s:
        # The clock is behind that of the earlier controller: what was timed by it begins anew.
        schedule = replace(schedule, earlier=(), rescaled_s=None, said_s=None).afresh(at_s, desired)
        learnt, outlook = replace(learnt, learnt_s=None), Outlook()
    newest = max((each.number for each in remembered.applied), default=0)
    return Knowledge(
        declared=declared,
        desired=desired,
        authors={address: author for address, author in remembered.authors.items() if desired.of(address) == remembered.desired.of(address)},
        # Partitions that were changed are not desired any more: a query without state starts without them, and a hold would name a number it does not have.
        holds=tuple(hold for hold in held if desired.of(hold.knob) is not None or not knob_at(hold.knob)[0].in_checkpoint),
        applied=remembered.applied,
        next_number=remembered.next_number,
        began_s=at_s,
        learnt=replace(learnt, health=learnt.health.undisturbed(), applied_number=max(learnt.applied_number, newest)),
        outlook=outlook,
        schedule=schedule,
        trust=replace(remembered.trust, infeasible=(), doubted={}, broken_since_s=None),
        proposals=remembered.proposals,
        effects=remembered.effects,
        fits=replace(remembered.fits, number=None, asked_s=None),
        predictions=tuple(each for each in remembered.predictions if not each.cause),
    )


def join(knowledge: Knowledge, query: str, declared: QueryConfiguration, remembered: Knowledge | None) -> Knowledge:
    """Return the knowledge of a job that one more query joins: as its owner declares it, unless an earlier controller left another value for it."""
    known = knowledge if query in knowledge.declared.queries else remembered
    alone = replace(knowledge.declared, queries={query: declared})
    desired = replace(knowledge.desired, queries={**knowledge.desired.queries, **(alone if known is None else still_desired(alone, known)).queries})
    others = tuple(hold for hold in knowledge.holds if hold.query != query)
    its_own = () if known is None else tuple(hold for hold in still_held(desired, known) if hold.query == query)
    whole = replace(knowledge.declared, queries={**knowledge.declared.queries, query: declared})
    authors = {} if known is None else {address: each for address, each in known.authors.items() if knob_at(address)[1] == query}
    kept = {address: each for address, each in authors.items() if known is not None and desired.of(address) == known.desired.of(address)}
    authors = {address: each for address, each in knowledge.authors.items() if knob_at(address)[1] != query} | kept
    return replace(knowledge, declared=whole, desired=desired, holds=(*others, *its_own), authors=authors)


def still_desired(declared: Configuration, remembered: Knowledge) -> Configuration:
    """Return what is declared, with what was desired wherever the declaration has not changed."""
    kept = declared
    for address in declared.addresses():
        query = knob_at(address)[1]
        known = query is None or (query in remembered.declared.queries and query in remembered.desired.queries)
        if known and remembered.declared.of(address) == declared.of(address):
            kept = kept.having(address, remembered.desired.of(address))
    return kept


def still_held(desired: Configuration, remembered: Knowledge) -> tuple[Hold, ...]:
    """Return the holds whose value is still the desired one."""
    there = {None, *desired.queries}
    return tuple(hold for hold in remembered.holds if hold.query in there and desired.of(hold.knob) == remembered.desired.of(hold.knob))
