"""How a feeder keeps up with its schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """Rows in the topic and rows scheduled so far, and how long the next row to get there has been due: now, and at most since the feeder started."""

    sent_rows: int
    scheduled_rows: int
    rate_rows_per_s: float
    behind_s: float
    worst_behind_s: float
    ended: bool = False

    @property
    def behind_rows(self) -> int:
        return max(0, self.scheduled_rows - self.sent_rows)

    def told(self, topic: str) -> dict[str, Any]:
        """What people and other programs are told of the feeder of this topic."""
        return {
            "topic": topic, "sent_rows": self.sent_rows, "rate_rows_per_s": self.rate_rows_per_s, "behind_s": self.behind_s,
            "worst_behind_s": self.worst_behind_s,
        }  # fmt: skip
