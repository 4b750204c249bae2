"""CPU steal: the share of its cores' time that a virtual machine did not get from its host."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

Span = tuple[float, float]
"""Start and end in seconds."""

TOO_MUCH = 0.1
"""The share of the cores' time above which steal matters; a healthy job has this much to spare."""
OVER_S = 5.0
"""The shortest span over which steal is measured."""
AFTER_S = 30.0
"""How long the backlog of a steal affects the latency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuTime:
    """CPU ticks of all cores since boot."""

    at_s: float
    stolen: int
    all: int


def cpu_time(at_s: float, stat: Path = Path("/proc/stat")) -> CpuTime | None:
    """Read the CPU time of now; None if the machine does not report it."""
    try:
        ticks = [int(each) for each in stat.read_text().splitlines()[0].split()[1:9]]
    except (OSError, ValueError, IndexError):
        return None
    return CpuTime(at_s=at_s, stolen=ticks[7], all=sum(ticks)) if len(ticks) == 8 else None


def stolen_spans(times: Sequence[CpuTime]) -> tuple[Span, ...]:
    """Return the spans with too much steal, each extended by `AFTER_S`.

    >>> times = [CpuTime(at_s=float(second), stolen=20 * max(0, min(second, 40) - 20), all=200 * second) for second in range(0, 101, 5)]
    >>> stolen_spans(times)
    ()
    >>> stolen_spans([CpuTime(at_s=each.at_s, stolen=3 * each.stolen, all=each.all) for each in times])
    ((20.0, 70.0),)
    """
    spans: list[Span] = []
    before: CpuTime | None = None
    for now in times:
        if before is None:
            before = now
        elif now.at_s - before.at_s >= OVER_S:
            if now.stolen - before.stolen > TOO_MUCH * (now.all - before.all):
                joined = spans.pop()[0] if spans and before.at_s <= spans[-1][1] else before.at_s
                spans.append((joined, now.at_s + AFTER_S))
            before = now
    return tuple(spans)


def within(at_s: float, spans: Sequence[Span]) -> bool:
    return any(from_s <= at_s <= until_s for from_s, until_s in spans)
