"""Declarations of settings: default, bounds and meaning of each in one place."""

from dataclasses import field, fields
from typing import Any

from penstock.core.errors import UserMistake


def setting(default: float, meaning: str, *, lowest: float, highest: float) -> Any:
    """Declare one setting; the documentation table and the checks of the job file come from this."""
    return field(default=default, metadata={"meaning": meaning, "lowest": lowest, "highest": highest, "scales": False})


def timer(default: float, meaning: str, *, lowest: float = 0.0, highest: float = 86400.0) -> Any:
    """Declare a setting in seconds that `autopilot.time_scale` multiplies, for a job with shorter days: periods, graces, windows, horizons."""
    return field(default=default, metadata={"meaning": meaning, "lowest": lowest, "highest": highest, "scales": True})


def flag(default: bool, meaning: str) -> Any:
    """Declare a setting that is true or false."""
    return field(default=default, metadata={"meaning": meaning, "lowest": False, "highest": True, "scales": False})


def check(declaring: Any, table: str, name: str, value: object) -> None:
    """Raise `UserMistake` unless `value` is allowed for the setting `name` that a class declares; `table` is where people write it."""
    declared = {each.name: each for each in fields(declaring) if "meaning" in each.metadata}
    if name not in declared:
        raise UserMistake(f"{table}.{name}: there is no such setting; there are {', '.join(declared)}")
    bounds = declared[name].metadata
    if isinstance(declared[name].default, bool):
        if not isinstance(value, bool):
            raise UserMistake(f"{table}.{name}: found {value!r}, true or false is allowed")
        return
    whole = isinstance(declared[name].default, int)
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    if number is None or not bounds["lowest"] <= number <= bounds["highest"] or (whole and number != int(number)):
        kind = "a whole number" if whole else "a number"
        raise UserMistake(f"{table}.{name}: found {value!r}, {kind} from {bounds['lowest']:.10g} to {bounds['highest']:.10g} is allowed")
