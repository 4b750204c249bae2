"""Answers requests from the socket: turns them into commands and returns their results."""

from collections.abc import Callable, Mapping
from typing import Any

from penstock.core.domain.command import Approve, Command, Pause, Reject, Release, Resume, SetKnob
from penstock.core.domain.events.autopilot_events import PolicyPaused, PolicyResumed, ProposalEnded
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executor_events import ExecutorsMissing
from penstock.core.domain.events.source_events import SourceRateSet
from penstock.core.domain.events.steering_events import CommandRefused, CommandTaken, HoldEnded, InstructionFailed, InstructionGiven
from penstock.core.domain.knobs import knob_set_by
from penstock.core.errors import PenstockError, Refused, UserMistake
from penstock.core.redaction import Redactor
from penstock.core.shapes.schedule import Override
from penstock.ports import Clock
from penstock.runtime.controller import Controller

ANSWER_S = 25.0
WISHES = (SetKnob, Approve)
"""Commands whose answer includes the instructions of the same turn."""

SetSourceRate = Callable[[str | None, str], tuple[str, Override]]
"""Sets the rate of a source, as an operator writes it; returns the name of the source as well."""


class Desk:
    """Answers requests, from any thread, with secrets masked."""

    def __init__(
        self, *, controller: Controller, clock: Clock, redactor: Redactor, status: Callable[[], Mapping[str, Any]], set_source_rate: SetSourceRate | None
    ) -> None:
        self._controller = controller
        self._clock = clock
        self._redactor = redactor
        self._status = status
        self._set_source_rate = set_source_rate

    def handle(self, verb: str, asked: Mapping[str, Any], who: str) -> Mapping[str, Any]:
        """Return the answer; raise `PenstockError` with the reason if there is none."""
        try:
            answer = self._answer(verb, asked, who)
        except PenstockError as error:
            raise type(error)(self._redactor.text(str(error))) from None
        except TimeoutError:
            raise Refused(f"the controller did not answer within {ANSWER_S:.0f} s; the command is taken when it does") from None
        except Exception as error:
            raise Refused(self._redactor.text(f"{type(error).__name__}: {error}")) from None
        return dict(self._redactor.tree(answer))

    def _answer(self, verb: str, asked: Mapping[str, Any], who: str) -> Mapping[str, Any]:
        if verb == "status":
            return self._status()
        if verb == "outcomes":
            return self._outcomes([int(number) for number in asked["numbers"]])
        if verb == "rate":
            return self._rate(asked.get("source"), str(asked["value"]), who)
        return self._command(command_of(verb, asked, who, self._clock.now_s()))

    def _command(self, command: Command) -> Mapping[str, Any]:
        """Submit a command; return those events of its turn that concern it."""
        events = self._controller.submit(command).result(timeout=ANSWER_S)
        taken = [event for event in events if is_taken(event, command.who)]
        refused = [event for event in events if isinstance(event, CommandRefused) and event.who == command.who]
        if refused and not taken:
            raise Refused(refused[0].words())
        given = [event for event in events if isinstance(event, InstructionGiven) and isinstance(command, WISHES)]
        answers: list[Event] = [*refused, *taken, *given]
        answer: dict[str, Any] = {"said": [event.words() for event in answers], "numbers": [event.number for event in given]}
        paused = [event for event in taken if isinstance(event, PolicyPaused)]
        return answer | ({"paused_until_s": paused[-1].until_s} if paused else {})

    def _outcomes(self, numbers: list[int]) -> Mapping[str, Any]:
        """Return which of these instructions are pending, how the others ended, and which of those were not carried out."""
        pending = {each.instruction.number for each in self._controller.knowledge.pending}
        last = {number: self._controller.recent[number] for number in numbers if number in self._controller.recent}
        # Knowledge is updated a moment before its events: an instruction whose last event is that it was given is still pending.
        pending |= {number for number, event in last.items() if isinstance(event, InstructionGiven)}
        ended = {number: event for number, event in last.items() if number not in pending}
        return {
            "pending": sorted(pending & set(numbers)),
            "ended": {str(number): event.words() for number, event in ended.items()},
            "undone": [number for number, event in ended.items() if isinstance(event, (InstructionFailed, ExecutorsMissing))],
        }

    def _rate(self, source: str | None, value: str, who: str) -> Mapping[str, Any]:
        if self._set_source_rate is None:
            raise Refused("this job has no trace source whose rate could be set")
        name, rate = self._set_source_rate(source, value)
        event = SourceRateSet(at_s=self._clock.now_s(), source=name, who=who, rows_per_s=rate.rows_per_s, times=rate.times)
        self._controller.note([event])
        return {"said": [event.words()], "numbers": []}


def is_taken(event: Event, who: str) -> bool:
    """Return whether the event says that a command of this operator was accepted."""
    if isinstance(event, HoldEnded):
        return event.how == "released"
    return isinstance(event, (CommandTaken, PolicyPaused, PolicyResumed, ProposalEnded)) and event.who == who


def command_of(verb: str, asked: Mapping[str, Any], who: str, at_s: float) -> Command:
    by: dict[str, Any] = {"at_s": at_s, "who": who}
    held = by | {"hold_s": None if asked.get("hold_s") is None else float(asked["hold_s"])}
    on_proposal = by | {"proposal": None if asked.get("proposal") is None else int(asked["proposal"])}
    commands: dict[str, Callable[[], Command]] = {
        "release": lambda: Release(**by),
        "pause": lambda: Pause(**held, reason=str(asked.get("reason") or "")),
        "resume": lambda: Resume(**by),
        "approve": lambda: Approve(**on_proposal),
        "reject": lambda: Reject(**on_proposal),
    }
    knob = knob_set_by(verb)
    if knob is not None:
        return SetKnob(**held, knob=knob.name, value=str(asked["value"]), query=asked.get("query"))
    if verb not in commands:
        raise UserMistake(f"there is no command {verb!r}")
    return commands[verb]()
