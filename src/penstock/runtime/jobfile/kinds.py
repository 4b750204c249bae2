"""The kinds of values in a job file: how each is read, and what is allowed, in words."""

import math
import re
from collections.abc import Callable
from dataclasses import Field as Setting
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from penstock.core.domain.hours import DAY_S, Hours
from penstock.core.domain.trigger import Trigger
from penstock.core.domain.units import parse_duration_s, parse_rate_rows_per_s
from penstock.core.errors import UserMistake


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value, used as `Annotated[type, kind]`; `read` raises `ValueError` or `UserMistake` for what is not allowed.

    Neither the value nor the message of `read` goes into the error: a value may be a secret.
    """

    allowed: str
    read: Callable[[Any], object]

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._checked)

    def _checked(self, value: object) -> object:
        try:
            return self.read(value)
        except NOT_READ:
            raise PydanticCustomError("not_allowed", "not allowed", {"allowed": self.allowed}) from None


DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
NOT_READ = (ValueError, OverflowError, UserMistake)


def must(holds: bool) -> None:
    """Raise `ValueError` unless the condition holds."""
    if not holds:
        raise ValueError


def whole_number(lowest: int, highest: float = math.inf) -> Kind:
    """Return a whole number; as text too, so that `${env:NAME}` can give one.

    >>> whole_number(1).read("4"), whole_number(0, 9).allowed
    (4, 'a whole number from 0 to 9')
    """

    def read(value: object) -> int:
        found = _number(value)
        must(found == int(found) and lowest <= found <= highest)
        return int(found)

    return Kind(f"a whole number of at least {lowest}" if highest == math.inf else f"a whole number from {lowest} to {highest:.10g}", read)


def number(lowest: float, highest: float, *, seconds: bool = False) -> Kind:
    """Return a number within bounds; with `seconds` also a duration such as "5s"."""

    def read(value: object) -> float:
        found = parse_duration_s(value) if seconds and isinstance(value, str) else float(_number(value))
        must(lowest <= found <= highest)
        return found

    what = 'a number, or a duration such as "5s",' if seconds else "a number"
    return Kind(f"{what} from {lowest:.10g} to {highest:.10g}{' seconds' if seconds else ''}", read)


def _flag(value: object) -> bool:
    must(isinstance(value, bool))
    return bool(value)


FLAG = Kind("true or false", _flag)


def of_setting(setting: Setting[Any]) -> Kind:
    """Return the kind of value that a setting takes, as it is declared."""
    lowest, highest = setting.metadata["lowest"], setting.metadata["highest"]
    if isinstance(setting.default, bool):
        return FLAG
    if isinstance(setting.default, int):
        return whole_number(lowest, highest)
    return number(lowest, highest, seconds=setting.name.endswith("_s"))


def any_parameter(name: str) -> Kind:
    """Return a number, or true or false, of which only the name is known; also a duration if that ends in "_s"."""
    what = 'a number, or a duration such as "5s",' if name.endswith("_s") else "a number, or true or false,"
    kind = number(-math.inf, math.inf, seconds=name.endswith("_s"))
    return Kind(what, lambda value: value if isinstance(value, bool) else kind.read(value))


def one_of(*texts: str) -> Kind:
    def read(value: object) -> str:
        must(value in texts)
        return str(value)

    return Kind("one of " + ", ".join(f'"{each}"' for each in texts), read)


def text(allowed: str, pattern: str = r"(?s).*\S.*") -> Kind:
    """Return a text that matches a pattern; not blank, if none is given."""

    def read(value: object) -> str:
        must(isinstance(value, str) and re.fullmatch(pattern, value) is not None)
        return str(value)

    return Kind(allowed, read)


def _number(value: object) -> int | float:
    if isinstance(value, str):
        value = int(value) if re.fullmatch(r"\s*[+-]?\d+\s*", value) else float(value)
    must(isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value))
    return value  # type: ignore[return-value]


def _positive_duration_s(value: Any) -> float:
    seconds = parse_duration_s(value)
    must(seconds > 0)
    return seconds


def _rate(value: Any) -> float:
    rows_per_s = parse_rate_rows_per_s(value)
    must(0 < rows_per_s < math.inf)
    return rows_per_s


def _trigger(value: Any) -> Trigger:
    if isinstance(value, str):
        trigger = Trigger.parse(value)
    elif isinstance(value, dict):
        [(kind, interval)] = value.items()
        must(kind in ("real_time", "processing_time"))
        trigger = Trigger(kind=kind, interval_s=parse_duration_s(interval))
    else:
        trigger = Trigger(interval_s=parse_duration_s(value))
    must(trigger.kind != "real_time" or trigger.interval_s > 0)
    return trigger


def _metrics_address(value: object) -> str | None:
    """Return the address as host:port, None for "off".

    >>> _metrics_address("127.0.0.1:9464"), _metrics_address("off")
    ('127.0.0.1:9464', None)
    """
    if value == "off":
        return None
    found = re.fullmatch(r"(?:\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):(\d{1,5})", value) if isinstance(value, str) else None
    must(found is not None and int(found[1]) <= 65535)
    return str(value)


def _names(value: object) -> tuple[str, ...]:
    must(isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value))
    return tuple(value)  # type: ignore[arg-type]


def _option(value: object) -> str:
    """Return an option as text, as Spark and Java write it.

    >>> _option(0.5), _option(True), _option("hold")
    ('0.5', 'true', 'hold')
    """
    must(isinstance(value, (str, int, float)))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _yes_or_no(value: object) -> bool:
    """Return a Boolean; as text too, so that `${env:NAME}` can give one.

    >>> _yes_or_no(False), _yes_or_no("true")
    (False, True)
    """
    must(isinstance(value, bool) or value in ("true", "false"))
    return value in (True, "true")


def _hours(value: object) -> tuple[Hours, ...]:
    """Hours of the week, as a list or a single text.

    >>> _hours("sat-sun")
    (Hours(days=(5, 6), from_s=0.0, until_s=86400.0),)
    """
    given = value if isinstance(value, (list, tuple)) else [value]
    must(all(isinstance(each, str) for each in given))
    return tuple(map(parse_hours, given))


def _moment_s(value: object) -> float:
    """Return seconds since 1970 of a time with its offset, from TOML or as text.

    >>> _moment_s("2026-11-27T18:00:00+01:00")
    1795798800.0
    """
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise ValueError
    return moment.timestamp()


def _connector(value: object) -> tuple[str, ...]:
    """Coordinates and jars, as a list or a single one.

    >>> _connector("jars/connector.jar"), _connector(["org:artifact_2.13:4.2.0"])
    (('jars/connector.jar',), ('org:artifact_2.13:4.2.0',))
    """
    given = value if isinstance(value, list) else [value]
    must(bool(given) and all(isinstance(each, str) and re.fullmatch(_CONNECTOR_PATTERN, each) for each in given))
    return tuple(given)


def parse_hours(text: str) -> Hours:
    """Return hours of the week in UTC, written as days, as a span of the day, or as both; raise `ValueError` for anything else.

    >>> parse_hours("mon-fri 08:00-18:00")
    Hours(days=(0, 1, 2, 3, 4), from_s=28800.0, until_s=64800.0)
    >>> parse_hours("sat, sun"), parse_hours("22:00-06:00").until_s
    (Hours(days=(5, 6), from_s=0.0, until_s=86400.0), 21600.0)
    """
    found = re.fullmatch(r"(?P<days>[a-z,-]+)?\s*(?P<span>[\d:-]+)?", re.sub(r"\s*([,-])\s*", r"\1", text.strip().lower()))
    if found is None or not found[0]:
        raise ValueError
    days = tuple(range(7)) if found["days"] is None else _days(found["days"])
    from_s, until_s = (0.0, DAY_S) if found["span"] is None else _span(found["span"])
    return Hours(days=days, from_s=from_s, until_s=until_s)


def _days(text: str) -> tuple[int, ...]:
    """Return the days of a list; a range may run past Sunday.

    >>> _days("mon,wed-thu"), _days("sat-mon")
    ((0, 2, 3), (0, 5, 6))
    """
    days: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        begin, end = DAYS.index(first), DAYS.index(last if dash else first)
        days.update(each % 7 for each in range(begin, end + 1 if end >= begin else end + 8))
    return tuple(sorted(days))


def _span(text: str) -> tuple[float, float]:
    from_s, until_s = map(_second, text.split("-"))
    must(from_s not in (until_s, DAY_S))
    return from_s, until_s


def _second(text: str) -> float:
    """Return the second of the day, up to 24:00.

    >>> _second("08:30"), _second("24:00")
    (30600.0, 86400.0)
    """
    found = re.fullmatch(r"(\d?\d):([0-5]\d)", text)
    second = DAY_S + 1 if found is None else 3600.0 * int(found[1]) + 60.0 * int(found[2])
    must(second <= DAY_S)
    return second


NAME_PATTERN = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"
_WORDS = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_REFERENCE = rf"(?:\S(?:.*\S)?\.py|{_WORDS}):{_WORDS}"
_MASTER_PATTERN = r"embedded|yarn|local(-cluster)?(\[.+\])?|(?!sc:)[a-z][a-z0-9+.-]*://\S+"
_BROKER = r"(?:[A-Za-z][A-Za-z0-9_]*://)?(?:\[[0-9A-Fa-f:.]+\]|[^\s:/,\[\]]+):\d{1,5}"
BOOTSTRAP_PATTERN = rf"embedded|{_BROKER}(?:\s*,\s*{_BROKER})*"
_CONNECTOR_PATTERN = r"\S(?:.*\S)?\.jar|[^\s:/]+:[^\s:/]+:[^\s:/]+"

NAME = text('a name of at most 100 letters, digits, "_", "." and "-" that starts with a letter, a digit or "_"', NAME_PATTERN)
MASTER = text('"embedded" or a Spark master such as "spark://host:7077", "yarn" or "k8s://https://host:443" (not Spark Connect)', _MASTER_PATTERN)
POLICY = text('the name of a policy, or "file.py:Class" for one of your own,', rf"[^:\s]+|{_REFERENCE}")
HOURS = Kind('hours of the week in UTC such as ["mon-fri 08:00-18:00", "sat-sun", "22:00-06:00"]', _hours)
MOMENT = Kind("a time with its offset such as 2026-11-27T18:00:00+01:00", _moment_s)
FUNCTION = text('a function such as "job.py:enrich" or "package.module:enrich"', _REFERENCE)
DURATION = Kind('a duration above 0 such as "500ms", "5s", "2m" or "1h30m"', _positive_duration_s)
RATE = Kind('a rate above 0 such as "20000/s", "20k/s" or "1.5M/s"', _rate)
TRIGGER = Kind('a time ("5s"), "asap", "available-now", { real_time = "15s" } or { processing_time = "5s" }', _trigger)
METRICS = Kind('"off" or an address such as "127.0.0.1:9464"', _metrics_address)
SOURCE_NAMES = Kind('a list of names of sources such as ["clicks"]', _names)
OPTION = Kind("a text, a number, true or false", _option)
BOOTSTRAP = text('"embedded" or brokers such as "host:9092,host2:9092"', BOOTSTRAP_PATTERN)
YES_OR_NO = Kind("true or false", _yes_or_no)
CONNECTOR = Kind('coordinates such as "group:artifact:version", the path of a jar, or a list of these', _connector)
URL = text('an address such as "http://prometheus:9090"', r"https?://[^\s/]\S*")
QUERY = text('a Prometheus query such as "sum by (executor_id) (rate(...[1m]))"')
