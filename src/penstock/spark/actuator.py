"""The Actuator port on Spark: carries out each instruction in a thread of its own, and reports its outcome."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from penstock.core.config import Config
from penstock.core.domain.configuration import Change
from penstock.core.domain.instruction import Instruction, Outcome, joined
from penstock.core.domain.reading import Reading
from penstock.core.domain.units import count_words
from penstock.core.errors import Refused
from penstock.spark.causes import cause_of
from penstock.spark.executors import ExecutorPool, Scaled
from penstock.spark.files import Files
from penstock.spark.query import Changed, ManagedQuery, is_waiting

POLL_S = 0.02
APPLIED = {"executors", "trigger", "rate-limit", "partitions"}
"""The knobs that this actuator applies."""


class SparkActuator:
    def __init__(
        self, *, session: SparkSession, pool: ExecutorPool, queries: Sequence[ManagedQuery], config: Config, redact: Callable[[str], str],
        last_reading: Callable[[], Reading | None],
    ) -> None:  # fmt: skip
        self._session = session
        self._pool = pool
        self._queries = queries
        self._config = config
        self._redact = redact
        self._last_reading = last_reading

    def perform(self, instruction: Instruction, report: Callable[[Outcome], None]) -> None:
        def work() -> None:
            began, set_now = time.monotonic(), set[str]()
            try:
                outcome = self._apply(instruction, set_now)
            except Exception as error:
                failed = tuple(move.address for move in instruction.change.moves if move.address not in set_now)
                outcome = Outcome(
                    number=instruction.number, done=False, took_s=time.monotonic() - began, reason=cause_of(error, self._redact)[0], failed=failed
                )
            report(outcome)

        threading.Thread(target=work, name=f"penstock-{instruction.target}", daemon=True).start()

    def _apply(self, instruction: Instruction, set_now: set[str]) -> Outcome:
        """Apply a change: executors live, queries by one stop and start. Executors leave queries in Real-Time Mode while these are stopped.

        The knobs that are set are added to `set_now`, so that a failure half-way names the others only.
        """
        change, unknown = instruction.change, set(instruction.change.queries) - {query.name for query in self._queries}
        if unknown:
            raise Refused(f"there is no query {min(unknown)!r}")
        unset = next((move.address for move in change.moves if move.knob not in APPLIED), None)
        if unset is not None:
            raise Refused(f"{unset} cannot be set on Spark")
        named = [query for query in self._queries if query.name in change.queries]
        flowing = [query for query in self._queries if query.state == "running" and query.is_real_time]
        if change.executors is None:
            return self._change(instruction, named, set_now)
        executors = change.executors[1]
        if flowing and executors < len(self._pool.running()):
            return self._change(instruction, [*flowing, *(query for query in named if query not in flowing)], set_now, executors)
        scaled = self._scale(instruction.number, executors)
        set_now.update(("executors",) if scaled.done else ())
        return joined([replace(scaled, failed=("executors",)), self._change(instruction, named, set_now)]) if named else scaled

    def _scale(self, number: int, executors: int) -> Outcome:
        before = self._last_reading()
        scaled = self._pool.scale(executors, self._config.executors_timeout_s, self._wait_for_gap)
        delayed = delayed_between(before, self._last_reading())
        return Outcome(number=number, done=scaled.done, took_s=scaled.took_s, delayed_rows=delayed, reason=scaled.reason)

    def _change(self, instruction: Instruction, stopped: list[ManagedQuery], set_now: set[str], executors: int | None = None) -> Outcome:
        """Stop queries, each right after a commit, apply what cannot be applied live, and start them again with their new settings."""
        began, scaled = time.monotonic(), list[Scaled]()
        if executors is not None:
            self._check_slots([query for query in stopped if query.is_real_time], executors)

        def act() -> None:
            if executors is not None:
                scaled.append(self._pool.scale(executors, self._config.executors_timeout_s, lambda: None, until_gone=False))
                set_now.update("executors" for each in scaled if each.done)
            for query in stopped:
                self._repartition(query, instruction.change.of(query.name).get("partitions"))

        costs = self._while_stopped(stopped, instruction.change, act, set_now)
        delayed = [each.delayed_rows for each in costs]
        return Outcome(
            number=instruction.number,
            done=all(each.done for each in scaled),
            took_s=time.monotonic() - began,
            down_s=max(each.down_s for each in costs),
            delayed_rows=None if None in delayed else sum(rows for rows in delayed if rows is not None),
            reason=next((each.reason for each in scaled if each.reason), changed_words(costs[-1])),
            failed=tuple("executors" for each in scaled if not each.done),
        )

    def _check_slots(self, flowing: Sequence[ManagedQuery], executors: int) -> None:
        """Raise `Refused` if these executors have too few slots for tasks that never end."""
        needed, left = sum(query.recipe.slots_needed for query in flowing), executors * self._pool.slots_each
        if needed > left:
            raise Refused(f"{needed} slots are needed all the time in Real-Time Mode, {executors} executors have {left}")

    def _while_stopped(self, queries: list[ManagedQuery], change: Change, act: Callable[[], None], set_now: set[str]) -> list[Changed]:
        """Stop the queries, call `act`, and start them again with the knobs of theirs that move."""
        inner: list[Changed] = []

        def then() -> None:
            if queries[1:]:
                inner.extend(self._while_stopped(queries[1:], change, act, set_now))
            else:
                act()

        first = queries[0]
        changed = first.change(replace(first.settings, **change.of(first.name)), self._config.commit_wait_s, then)
        set_now.update(move.address for move in change.moves if move.query == first.name)
        return [*inner, changed]

    def _wait_for_gap(self) -> None:
        """Wait until no query is in the middle of a batch, or until `gap_wait_s` has passed: several busy queries may leave no gap."""
        deadline = time.monotonic() + self._config.gap_wait_s
        running = [query for query in self._queries if query.state == "running"]
        counts = [query.commits.count for query in running]
        while time.monotonic() < deadline:
            fresh = [query.commits.count > count for query, count in zip(running, counts, strict=True)]
            busy = [query.query.isActive and not is_waiting(query.query) for query in running]
            if not any(busy) or (len(running) == 1 and fresh[0]):
                return
            time.sleep(POLL_S)

    def _repartition(self, query: ManagedQuery, partitions: int | None) -> None:
        """Re-partition the state of a stopped query; a query without state takes the number at its next start."""
        if partitions is None or query.recipe.checkpoint is None:
            return
        if Files(self._session).names(f"{query.recipe.checkpoint}/state"):
            query.settle(self._config.commit_wait_s)
            self._session._streamingCheckpointManager.repartition(query.recipe.checkpoint, partitions)


def delayed_between(before: Reading | None, after: Reading | None) -> float | None:
    """Return by how many rows the excess lag grew between two readings; None if it is unknown, or if no reading was taken in between."""
    if before is None or after is None or after is before or before.excess_lag_rows is None or after.excess_lag_rows is None:
        return None
    return max(0.0, after.excess_lag_rows - before.excess_lag_rows)


def changed_words(changed: Changed) -> str:
    """Return what a restart cost, in words.

    >>> changed_words(Changed(down_s=0.5, between_batches=True, delayed_rows=None, replayed_rows=120.0))
    'down 0.50 s, 120 rows replayed'
    """
    replayed = f", {count_words(changed.replayed_rows)} rows replayed" if changed.replayed_rows else ""
    return f"down {changed.down_s:.2f} s{replayed}" + ("" if changed.between_batches else ", a batch was interrupted and is replayed")
