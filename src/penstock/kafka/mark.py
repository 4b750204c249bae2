"""Up to where a feeder has sent its rows: kept on disk, and made exact again from the topic's own offsets after a crash."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.core.errors import UserMistake


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """All rows before `position` are in the topic; `offsets` is where they end in each partition."""

    position: int
    offsets: tuple[int, ...]

    def write(self, path: Path) -> None:
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_text(json.dumps({"position": self.position, "offsets": self.offsets}))
        fresh.rename(path)

    @classmethod
    def read(cls, path: Path) -> Mark | None:
        if not path.exists():
            return None
        try:
            kept = json.loads(path.read_text())
            return cls(position=int(kept["position"]), offsets=tuple(int(each) for each in kept["offsets"]))
        except (ValueError, KeyError, TypeError):
            raise UserMistake(f"feed: its mark {path} is damaged; restore it, or feed another topic") from None

    def sent_since(self, ends: Sequence[int]) -> list[int]:
        """How many records of each partition went into the topic after the mark: those are not to be sent again.

        >>> Mark(position=100, offsets=(60, 40)).sent_since([63, 40])
        [3, 0]
        """
        if len(ends) != len(self.offsets):
            raise UserMistake(f"feed: the topic has {len(ends)} partitions, it was fed with {len(self.offsets)}; feed another topic, or remove the feed's mark")
        if any(end < at for end, at in zip(ends, self.offsets, strict=True)):
            raise UserMistake(
                f"feed: the topic ends at offsets {list(ends)}, before the {list(self.offsets)} that it was fed up to; it is another topic: "
                "restore it, or remove the feed's mark"
            )
        return [end - at for end, at in zip(ends, self.offsets, strict=True)]
