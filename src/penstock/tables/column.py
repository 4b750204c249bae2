"""What a column of a CSV file must hold."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column by its name. `may_lack` allows empty cells, which become NaN; `optional` allows the whole column to be absent; `truth` is 1 or 0, true
    or false, yes or no."""

    name: str
    lowest: float = -math.inf
    highest: float = math.inf
    above: float = -math.inf
    whole: bool = False
    text: bool = False
    truth: bool = False
    optional: bool = False
    may_lack: bool = False

    @property
    def allowed(self) -> str:
        """What is allowed, in words.

        >>> Column(name="scaleout", lowest=1, whole=True).allowed, Column(name="utilization", lowest=0, highest=1).allowed
        ('a whole number of at least 1', 'a number from 0 to 1')
        >>> Column(name="rate", above=0).allowed
        'a number above 0'
        """
        if self.truth:
            return "1 or 0"
        kind = "a whole number" if self.whole else "a number"
        if self.above > -math.inf:
            return f"{kind} above {self.above:g}"
        if self.highest < math.inf:
            return f"{kind} from {self.lowest:g} to {self.highest:g}"
        return f"{kind} of at least {self.lowest:g}" if self.lowest > -math.inf else kind
