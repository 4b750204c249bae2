"""Where a simulated query reads from."""

from __future__ import annotations

from typing import Protocol

from penstock.core.shapes.chance import FloatArray


class Rows(Protocol):
    """Rows in the order they come, counted from the start of the run: a load that is known ahead, or a topic that another query writes."""

    def rows_until(self, time_s: FloatArray) -> FloatArray:
        """How many had come by then, as far as is known now."""
        ...

    def arrived_s(self, rows: FloatArray) -> FloatArray:
        """The last moment at which only so many had come; infinite where no more are known of."""
        ...
