"""The state file of a trace, beside the checkpoint: when it began, and every change of its rate since."""

import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path

from penstock.core.errors import UserMistake
from penstock.core.shapes.rate_csv import parse_rate_csv
from penstock.core.shapes.schedule import Override, Schedule, TraceRecipe

KNOWN = ("rate", "csv", "at_end", "seed", "compression", "factor", "max_rows_per_batch", "partitions", "rows", "parquet", "state", "folder")


def number(options: Mapping[str, str], key: str, default: float, *, lowest: float, whole: bool = False) -> float:
    text = options.get(key)
    try:
        value = default if text is None else float(text)
    except ValueError:
        value = float("nan")
    if not lowest <= value < float("inf") or (whole and value != int(value)):
        raise UserMistake(f"trace: {key}: found {text!r}, a {'whole ' if whole else ''}number of at least {lowest:g} is allowed")
    return value


def recipe_of(options: Mapping[str, str]) -> TraceRecipe:
    unknown = [key for key in options if key.lower() not in KNOWN and key.lower() != "path"]
    if unknown:
        raise UserMistake(f"trace: {unknown[0]}: there is no such option; there are {', '.join(KNOWN)}")
    if bool(options.get("rate")) == bool(options.get("csv")):
        raise UserMistake('trace: give either rate (a shape such as "sine(mean=400, amplitude=200, period=120)") or csv (a file with columns t, rate)')
    knots = None
    if options.get("csv"):
        path = Path(options.get("folder", ".")) / options["csv"]
        try:
            knots = parse_rate_csv(path.read_text(), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise UserMistake(f"trace: csv: {path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return TraceRecipe(
        shape=options.get("rate"), knots=knots, seed=int(number(options, "seed", 0, lowest=0, whole=True)), at_end=options.get("at_end", "hold"),
        compression=number(options, "compression", 1, lowest=1e-6), rate_factor=number(options, "factor", 1, lowest=0),
    )  # fmt: skip


class TraceState:
    """The state file of one trace: the driver writes it, the source's own process reads it."""

    def __init__(self, path: Path, recipe: TraceRecipe) -> None:
        self.path = path
        self._recipe = recipe
        self._seen: tuple[int, int] | None = None
        self._schedule: Schedule | None = None

    def begin(self, now_s: float) -> Schedule:
        """Return the schedule; begin one now if there is none yet."""
        if not self.path.exists():
            self._write(Schedule.begin(self._recipe, now_s), exclusive=True)
        return self.schedule()

    def schedule(self) -> Schedule:
        """Return the schedule in the file, which is read again only if it has changed."""
        try:
            stamp = os.stat(self.path)
        except FileNotFoundError:
            raise UserMistake(f"trace: its state {self.path} is gone; without it the rows cannot be the same ones again") from None
        if self._schedule is None or self._seen != (stamp.st_mtime_ns, stamp.st_ino):
            try:
                self._schedule = Schedule.resume(self._recipe, json.loads(self.path.read_text()))
            except (ValueError, KeyError, TypeError):
                raise UserMistake(f"trace: its state {self.path} is damaged; restore it, or begin with another checkpoint") from None
            self._seen = (stamp.st_mtime_ns, stamp.st_ino)
        return self._schedule

    def override(self, override: Override) -> Schedule:
        """Set the rate from a moment on."""
        self._write(self.schedule().with_override(override))
        return self.schedule()

    def _write(self, schedule: Schedule, *, exclusive: bool = False) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_name(f".{self.path.name}.{uuid.uuid4().hex}")
        fresh.write_text(json.dumps(schedule.state()))
        if exclusive:
            try:
                os.link(fresh, self.path)
            except FileExistsError:
                pass
            fresh.unlink()
        else:
            fresh.rename(self.path)
