"""A configuration: every value that is decided about a job. The unit of decisions, predictions, instructions and experiments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import Any

from penstock.core.domain.disturbance import DisturbanceKind
from penstock.core.domain.knobs import KNOBS, Knob, address_of, knob_at
from penstock.core.domain.trigger import Trigger

Value = int | float | Trigger | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConfiguration:
    """The knobs of one query. `partitions` None keeps the number that the checkpoint has; `kept_share` below 1 sheds rows (no plant applies it yet)."""

    trigger: Trigger = Trigger()
    rate_limit_rows_per_s: float | None = None
    partitions: int | None = None
    kept_share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The knobs of a job and of its queries; a query that is not named stays as it is.

    >>> now = Configuration(executors=2, queries={"counts": QueryConfiguration(trigger=Trigger(interval_s=5.0))})
    >>> now.of("executors"), str(now.of("trigger:counts"))
    (2, '5s')
    >>> difference(now, now.having("executors", 3).having("rate-limit:counts", 500.0)).words()
    'executors 2 -> 3, rate-limit:counts none -> 500/s'
    """

    executors: int
    queries: Mapping[str, QueryConfiguration] = field(default_factory=dict)

    def of(self, address: str) -> Any:
        """Return the value of the knob at an address; None for a query that is not named."""
        knob, query = knob_at(address)
        holder = self if query is None else self.queries.get(query)
        return None if holder is None else getattr(holder, knob.field)

    def having(self, address: str, value: Any) -> Configuration:
        """Return this configuration with one knob at another value."""
        knob, query = knob_at(address)
        if query is None:
            return replace(self, **{knob.field: value})
        return replace(self, queries={**self.queries, query: replace(self.queries.get(query, QueryConfiguration()), **{knob.field: value})})

    def over(self, base: Configuration) -> Configuration:
        """Return the whole configuration: this one, and the queries of the base that it does not name.

        >>> base = Configuration(executors=2, queries={"counts": QueryConfiguration(partitions=4)})
        >>> Configuration(executors=3).over(base).queries["counts"].partitions
        4
        """
        whole = replace(self, queries={**base.queries, **self.queries} if self.queries else base.queries)
        return base if whole == base else whole

    def beyond(self, base: Configuration) -> Configuration:
        """Return this configuration without the queries that are as in the base."""
        return replace(self, queries={name: query for name, query in self.queries.items() if query != base.queries.get(name)})

    def addresses(self) -> list[str]:
        """Return the addresses of all knobs."""
        of_queries = [address_of(knob.name, query) for query in self.queries for knob in KNOBS.values() if knob.scope == "query"]
        return [*(knob.name for knob in KNOBS.values() if knob.scope == "job"), *of_queries]

    def known_in(self, running: Configuration) -> Configuration:
        """Return this configuration with the values that run where it leaves them to the checkpoint."""
        known = self
        for address in self.addresses():
            if knob_at(address)[0].in_checkpoint and self.of(address) is None:
                known = known.having(address, running.of(address))
        return known

    def holds_in(self, running: Configuration) -> bool:
        """Return whether a job that runs with `running` has all the values of this configuration; an unknown value in the checkpoint is ignored."""
        return all(KNOBS[move.knob].in_checkpoint and move.before is None for move in difference(running, self.over(running)).moves)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One knob that moves; `query` is empty for a knob of the job."""

    knob: str
    query: str = ""
    before: Value
    after: Value

    @property
    def address(self) -> str:
        return address_of(self.knob, self.query)

    @property
    def costs(self) -> DisturbanceKind | None:
        """The kind of disturbance that this move causes."""
        return KNOBS[self.knob].costs(self.before, self.after)

    def words(self) -> str:
        show = KNOBS[self.knob].show
        return f"{self.address} {show(self.before)} -> {show(self.after)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The knobs that move between two configurations, in the order of the table; false if none does."""

    moves: tuple[Move, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.moves)

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries whose knobs move."""
        return tuple(dict.fromkeys(move.query for move in self.moves if move.query))

    @property
    def executors(self) -> tuple[int, int] | None:
        """The number of executors before and after, if it moves."""
        values = ((move.before, move.after) for move in self.moves if move.knob == "executors")
        return next(((before, after) for before, after in values if isinstance(before, int) and isinstance(after, int)), None)

    @property
    def is_rescale(self) -> bool:
        """Whether the executors move, and nothing else."""
        return [move.knob for move in self.moves] == ["executors"]

    @property
    def costs(self) -> tuple[DisturbanceKind, ...]:
        """The kinds of disturbance that the moves cause; what needs a stop is done in one, so each kind counts once."""
        return tuple(dict.fromkeys(move.costs for move in self.moves if move.costs is not None))

    @property
    def may_harm(self) -> bool:
        """Whether it could break a promise: anything but more executors."""
        return any(move.costs != "rescale_up" for move in self.moves)

    def on(self, configuration: Configuration) -> Configuration:
        """Return a configuration with the values that the knobs move to; its other knobs stay."""
        for move in self.moves:
            configuration = configuration.having(move.address, move.after)
        return configuration

    def of(self, query: str) -> dict[str, Any]:
        """Return the new values of one query's knobs that move, by field."""
        return {KNOBS[move.knob].field: move.after for move in self.moves if move.query == query}

    def words(self) -> str:
        return ", ".join(move.words() for move in self.moves)

    def sides(self) -> tuple[str, str]:
        """Return the values before and after in words, each with the name of its knob unless executors alone move."""

        def shown(move: Move, value: Value) -> str:
            return f"{'' if self.is_rescale else f'{move.knob} '}{KNOBS[move.knob].show(value)}"

        return ", ".join(shown(move, move.before) for move in self.moves), ", ".join(shown(move, move.after) for move in self.moves)


def knobs_of(query: QueryConfiguration) -> dict[str, Any]:
    """Return the values of a query's knobs by field."""
    return {each.name: getattr(query, each.name) for each in fields(QueryConfiguration)}


def difference(before: Configuration, after: Configuration) -> Change:
    """Return the knobs whose values differ; a query that only one of the two names does not count."""
    moves = list(moved_in("", before, after).moves)
    for name in after.queries:
        if name in before.queries:
            moves += moved_in(name, before.queries[name], after.queries[name]).moves
    return Change(moves=tuple(moves))


def apart(base: Configuration, own: Configuration) -> Change:
    """Return the moves from a base to another configuration: knobs of queries only where they differ, knobs of the job always."""
    of_job = (Move(knob=knob.name, before=base.of(knob.name), after=own.of(knob.name)) for knob in KNOBS.values() if knob.scope == "job")
    return Change(moves=(*of_job, *(move for move in difference(base, own).moves if move.query)))


def moved_in(query: str, before: Configuration | QueryConfiguration, after: Configuration | QueryConfiguration) -> Change:
    """Return the knobs of one query that move, or those of the job without a name. A value that `after` leaves to the checkpoint does not move."""
    if before is after:
        return Change()
    moves = (move for knob in KNOBS.values() if (knob.scope == "query") == bool(query) and (move := _move(knob, query, before, after)))
    return Change(moves=tuple(move for move in moves if move.after is not None or not KNOBS[move.knob].in_checkpoint))


def _move(knob: Knob, query: str, before: object, after: object) -> Move | None:
    was, now = getattr(before, knob.field), getattr(after, knob.field)
    return None if was == now else Move(knob=knob.name, query=query, before=was, after=now)


def refuse_change(change: Change, after: Configuration) -> str | None:
    """Return why a change to this configuration is out of the bounds of the knobs that move, or None.

    >>> before = Configuration(executors=2, queries={"counts": QueryConfiguration()})
    >>> refuse_change(difference(before, after := before.having("rate-limit:counts", -5.0)), after)
    'rate-limit:counts -5/s: a limit above 0 rows/s is allowed'
    """
    alone = ((move, KNOBS[move.knob].refuse(move.after)) for move in change.moves)
    misfits = (f"{move.address} {KNOBS[move.knob].show(move.after)}: {why}" for move, why in alone if why)
    together = (f"{query}: {why}" for query in change.queries if (why := refuse_together(after.queries[query])))
    return next(chain(misfits, together), None)


def refuse_together(query: QueryConfiguration) -> str | None:
    """Return why the values of one query exclude each other, or None."""
    if query.trigger.kind == "real_time" and query.rate_limit_rows_per_s is not None:
        return "Spark keeps to no rate limit in Real-Time Mode, it reads rows as they come: choose micro-batches, or no limit"
    return None
