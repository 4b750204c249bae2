"""The state of the autopilot in a few lines: its mode, its last decision, an open proposal, a pause."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from penstock.cli.terminal import one_line
from penstock.core.domain.events import autopilot_events
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.meaning import mode_in
from penstock.core.domain.units import duration_words


@dataclass(frozen=True, slots=True, kw_only=True)
class LastDecision:
    at_s: float
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A proposal that waits for an answer."""

    number: int
    change: str
    expires_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pausing:
    who: str
    until_s: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pilot:
    """The autopilot as a terminal shows it; `infeasible` are targets that no number of executors can meet."""

    mode: str
    policy: str = ""
    last: LastDecision | None = None
    proposal: Waiting | None = None
    paused: Pausing | None = None
    infeasible: tuple[str, ...] = ()

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Self:
        """Read the state from a job's answer to `status`."""
        last, proposal, paused = state["last"], state["proposal"], state["paused"]
        return cls(
            mode=state["mode"],
            policy=state["policy"],
            last=None if last is None else LastDecision(at_s=last["at_s"], words=last["words"]),
            proposal=None if proposal is None else Waiting(**{name: proposal[name] for name in ("number", "change", "expires_s")}),
            paused=None if paused is None else Pausing(who=paused["who"], until_s=paused["until_s"], reason=paused["reason"]),
            infeasible=tuple(state["infeasible"]),
        )

    def after(self, events: Sequence[Event], redact: Callable[[str], str] = str) -> Self:
        """Return the state after these events; their texts pass through `redact`."""
        pilot = self
        for event in events:
            pilot = replace(pilot, mode=mode_in(event) or pilot.mode)
            match event:
                case autopilot_events.Decided(effect="approved"):
                    continue
                case autopilot_events.Decided():
                    pilot = replace(pilot, policy=event.policy, last=LastDecision(at_s=event.at_s, words=redact(event.words())))
                case autopilot_events.Proposed():
                    waits = Waiting(number=event.proposal, change=event.change.words(), expires_s=event.expires_s)
                    pilot = replace(pilot, proposal=waits)
                case autopilot_events.ProposalEnded():
                    pilot = replace(pilot, proposal=None)
                case autopilot_events.PolicyPaused():
                    pilot = replace(pilot, paused=Pausing(who=event.who, until_s=event.until_s, reason=redact(event.reason)))
                case autopilot_events.PolicyResumed():
                    pilot = replace(pilot, paused=None)
                case autopilot_events.TargetInfeasible():
                    pilot = replace(pilot, infeasible=(*pilot.infeasible, event.target))
                case autopilot_events.TargetFeasible():
                    pilot = replace(pilot, infeasible=tuple(each for each in pilot.infeasible if each != event.target))
        return pilot

    def lines(self, now_s: float) -> list[tuple[str, str, str]]:
        """Return name, text and style of each line; no line in mode "observe"."""
        return [] if self.mode == "observe" else list(self._lines(now_s))

    def _lines(self, now_s: float) -> Iterator[tuple[str, str, str]]:
        policy = f"policy {self.policy}, " if self.policy else ""
        yield "autopilot", f"{policy}nothing decided yet" if self.last is None else f"{_span(now_s - self.last.at_s)} ago: {self.last.words}", ""
        if self.proposal is not None:
            left = _span(self.proposal.expires_s - now_s)
            number = self.proposal.number
            yield "proposal", f"{number}: {self.proposal.change}; penstock approve {number}, or reject {number}, within {left}", "yellow"
        if self.paused is not None:
            span = "until it is resumed" if self.paused.until_s is None else f"for {_span(self.paused.until_s - now_s)} more"
            reason = f" ({self.paused.reason})" if self.paused.reason else ""
            yield "paused", f"by {self.paused.who} {span}{reason}; penstock resume", "yellow"
        if self.infeasible:
            targets = ", ".join("carry the load" if each == autopilot_events.THROUGHPUT else f"keep the promised {each}" for each in self.infeasible)
            yield "infeasible", f"no number of executors can {targets}; penstock history --events says why", "red"


def pilot_view(lines: Sequence[tuple[str, str, str]], *, wrapped: bool) -> RenderableType:
    """Return the lines as a grid; a line too long is cut unless `wrapped`."""
    grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True, min_width=10)
    grid.add_column(no_wrap=not wrapped, overflow="fold" if wrapped else "ellipsis", ratio=1)
    for name, words, style in lines:
        grid.add_row(name, Text(one_line(words), style=style))
    return grid


def _span(seconds: float) -> str:
    return duration_words(max(1, round(seconds)))
