"""Durations and rates as people write them."""

import re

from penstock.core.errors import UserMistake

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_THOUSANDS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6}


def parse_duration_s(text: str | float) -> float:
    """Return seconds in a duration; a bare number is seconds.

    >>> parse_duration_s("1m30s"), parse_duration_s("250ms"), parse_duration_s(5)
    (90.0, 0.25, 5.0)
    """
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        seconds = float(text)
    else:
        parts = re.findall(r"(\d+(?:\.\d+)?)\s*(ms|min|s|m|h|d)?\s*", str(text).strip())
        if not parts or "".join(n + u for n, u in parts) != re.sub(r"\s", "", str(text)) or (len(parts) > 1 and any(not u for _, u in parts)):
            raise UserMistake(f'found {text!r}, a duration such as "500ms", "5s", "2m" or "1h30m" is allowed')
        seconds = sum(float(n) * _SECONDS[u or "s"] for n, u in parts)
    if not 0 <= seconds < 1e10:
        raise UserMistake(f"found {text!r}, a duration of 0 or more is allowed")
    return seconds


def parse_rate_rows_per_s(text: str | float) -> float:
    """Return rows per second in a rate; "20000/s", "20k/s" and plain numbers are understood.

    >>> parse_rate_rows_per_s("20k/s"), parse_rate_rows_per_s(500), parse_rate_rows_per_s("1.5M")
    (20000.0, 500.0, 1500000.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKM]?)\s*(?:/\s*s)?", str(text).strip().replace("_", ""))
    if not found or isinstance(text, bool):
        raise UserMistake(f'found {text!r}, a rate such as "20000/s", "20k/s" or "1.5M/s" is allowed')
    return float(found[1]) * _THOUSANDS[found[2]]


def duration_words(seconds: float) -> str:
    """Return a duration for people.

    >>> [duration_words(each) for each in (90, 0.25, 5, 7200, 0.9999, 1.5)]
    ['1m30s', '250ms', '5s', '2h', '1s', '1.5s']
    """
    if 0 < seconds < 0.9995:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 60:
        return f"{seconds:.3g}s"
    whole, words = round(seconds), ""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        if whole >= size:
            words += f"{whole // size}{unit}"
            whole %= size
    return words


def count_words(rows: float) -> str:
    """Return a number of rows for people.

    >>> [count_words(each) for each in (950, 12_345, 999_999, 3_400_000, 2.5e9)]
    ['950', '12.3k', '1M', '3.4M', '2.5G']
    """
    for size, unit, least in ((1e9, "G", 1e9), (1e6, "M", 1e6), (1e3, "k", 1e4)):
        if abs(rows) >= least * 0.9995:
            return f"{rows / size:.3g}{unit}"
    return f"{rows:.0f}"
