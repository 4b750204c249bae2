"""The confidence in a what-if, with its reasons."""

from dataclasses import dataclass
from typing import Literal

from penstock.core.domain.units import duration_words
from penstock.hindsight.whatif import WhatIf

Level = Literal["good", "fair", "low"]
LEVELS: tuple[Level, ...] = ("good", "fair", "low")

FAIR_OFF, LOW_OFF = 0.15, 0.30
"""The simulator's worst own error above which confidence is fair, and low."""
FAIR_S, LOW_S = 2 * 3600.0, 1800.0
"""The recorded duration below which confidence is fair, and low."""
OR_OF_ROWS = ", the policy's executors where a row costs as much, or as little, as the measured batches allow"
OR_OF_MOMENTS = ", or where each rescale comes a decision sooner or later: the widest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    level: Level
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.level if not self.reasons else f"{self.level}: {'; '.join(self.reasons)}"


def confidence(found: WhatIf) -> Confidence:
    knows_latency, left_out = found.like.error.latency_p95 is not None, len(found.like.found.left_out)
    return of(found.off, found.recorded.duration_s, found.recorded.executors_used, knows_latency=knows_latency, left_out=left_out)


def is_at_least(found: WhatIf) -> bool:
    """Return whether errors may be larger than the known ones."""
    return confidence(found).level != "good"


def error_reasons(found: WhatIf) -> tuple[str, ...]:
    """Return in words where the errors come from, why some are not known, and why some are lower bounds."""
    errors = [found.error_worker_seconds(run) for run in found.runs]
    said = []
    if any(error is not None for error in errors):
        said.append(f"how far the simulator is off on the recorded run{OR_OF_ROWS if found.likely else ''}{OR_OF_MOMENTS}")
    if found.off is not None and None in errors:
        said.append("? where a policy has another number of executors than the only one the job had, as the simulator's error there is not known")
    if is_at_least(found) and any(error is not None for error in errors):
        said.append(f"≥ for at least, as confidence is {confidence(found).level}")
    return tuple(said)


def of(off: float | None, recorded_s: float, sizes: int, *, knows_latency: bool, left_out: int = 0) -> Confidence:
    """Return the confidence: the worst of all reasons counts.

    >>> str(of(0.05, 6 * 3600.0, 3, knows_latency=True))
    'good'
    >>> str(of(0.4, 3600.0, 1, knows_latency=True))
    'low: the simulator is off by 40% on the recorded run; only 1h was recorded; the job had one number of executors, others are extrapolated'
    """
    said: list[tuple[int, str]] = []
    if left_out:
        said.append((2, f"{left_out} quer{'y is' if left_out == 1 else 'ies are'} not simulated, and the executors needed for that are not known"))
    elif off is None:
        said.append((2, "nothing of the recorded run can be compared with the simulator"))
    elif off > FAIR_OFF:
        said.append((1 + (off > LOW_OFF), f"the simulator is off by {off:.0%} on the recorded run"))
    if not knows_latency and off is not None:
        said.append((1, "the latency of the recorded run is not known"))
    if recorded_s < FAIR_S:
        said.append((1 + (recorded_s < LOW_S), f"only {duration_words(round(recorded_s))} was recorded"))
    if sizes < 2:
        said.append((1, "the job had one number of executors, others are extrapolated"))
    return Confidence(level=LEVELS[max((badness for badness, _ in said), default=0)], reasons=tuple(words for _, words in said))
