"""When the input of an output record had come, as the record itself tells."""

from __future__ import annotations

import json
import math
from datetime import datetime
from typing import Any

_SECONDS_BELOW, _MILLIS_BELOW, _MICROS_BELOW = 1e11, 1e14, 1e17


def arrival_of(value: bytes | None, headers: Any, field: str) -> float | None:
    """Seconds since 1970 from the header or the field of a JSON value with this name; None if neither tells.

    >>> arrival_of(b'{"arrival": 1700000000}', None, "arrival"), arrival_of(b"x", [("arrival", b"1700000000")], "arrival"), arrival_of(b"x", None, "arrival")
    (1700000000.0, 1700000000.0, None)
    """
    said: Any = next((text.decode(errors="replace") for name, text in headers or () if name == field and text is not None), None)
    if said is None and value:
        try:
            document = json.loads(value)
        except (ValueError, RecursionError):
            return None
        said = document.get(field) if isinstance(document, dict) else None
    return as_seconds(said)


def as_seconds(said: Any) -> float | None:
    """Seconds since 1970 from a number (seconds, milli-, micro- or nanoseconds, told apart by size) or a time in ISO 8601, as Spark's `to_json` writes it.

    >>> as_seconds(1700000000), as_seconds("1700000000123"), as_seconds("2023-11-14T22:13:20.500Z"), as_seconds("soon")
    (1700000000.0, 1700000000.123, 1700000000.5, None)
    """
    if isinstance(said, bool):
        return None
    try:
        number = float(said)
    except (TypeError, ValueError, OverflowError):
        return _moment(said) if isinstance(said, str) else None
    if not math.isfinite(number):
        return None
    for below, unit in ((_SECONDS_BELOW, 1.0), (_MILLIS_BELOW, 1e3), (_MICROS_BELOW, 1e6)):
        if number < below:
            return number / unit
    return number / 1e9


def _moment(said: str) -> float | None:
    try:
        moment = datetime.fromisoformat(said)
        return None if moment.tzinfo is None else moment.timestamp()
    except (ValueError, OverflowError):
        return None
