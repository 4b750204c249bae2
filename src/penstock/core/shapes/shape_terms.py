"""The named terms of a shape: one frozen class for each, whose fields are its parameters."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from penstock.core.domain.units import duration_words, parse_duration_s, parse_rate_rows_per_s
from penstock.core.errors import UserMistake
from penstock.core.shapes.chance import FloatArray, uniform

MAX_ROWS_PER_S = 1e9


def _rate(default: float) -> Any:
    """Declare a parameter in rows/s."""

    def read(text: str) -> float:
        value = parse_rate_rows_per_s(text)
        if value > MAX_ROWS_PER_S:
            raise UserMistake(f"found {text!r}, a rate of at most {MAX_ROWS_PER_S:g} rows/s is allowed")
        return value

    return field(default=default, metadata={"read": read})


def _time(default: float, least_s: float = 0.0) -> Any:
    """Declare a parameter that is a duration; periods have a minimum, as curves are sampled every second."""

    def read(text: str) -> float:
        value = parse_duration_s(text)
        if value < least_s:
            raise UserMistake(f"found {text!r}, at least {duration_words(least_s)} is allowed")
        return value

    return field(default=default, metadata={"read": read})


@dataclass(frozen=True, slots=True)
class Term(ABC):
    """One term of the sum that a shape is."""

    @abstractmethod
    def rate_at(self, t_s: FloatArray, key: int) -> FloatArray:
        """Return the rows/s that this term adds at these times; `key` seeds its random numbers."""

    @property
    def settled_s(self) -> float:
        """The time from which on the rate is constant; infinite if it never is."""
        return np.inf

    def mistake(self) -> str | None:
        """Return what is wrong with this combination of parameters."""
        return None

    def __str__(self) -> str:
        given = ", ".join(f"{each.name}={getattr(self, each.name):.17g}" for each in fields(self))
        return f"{type(self).__name__.lower()}({given})"


@dataclass(frozen=True, slots=True)
class Constant(Term):
    """A constant rate."""

    rate: float = _rate(1000)

    def rate_at(self, t_s: FloatArray, key: int) -> FloatArray:
        return np.full_like(t_s, self.rate)

    @property
    def settled_s(self) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class Step(Term):
    """One rate up to a time, another after it."""

    before: float = _rate(100)
    after: float = _rate(500)
    at: float = _time(60)

    def rate_at(self, t_s: FloatArray, key: int) -> FloatArray:
        return np.where(t_s <= self.at, self.before, self.after)

    @property
    def settled_s(self) -> float:
        return self.at + 1.0


@dataclass(frozen=True, slots=True)
class Ramp(Term):
    """A rate that moves linearly from one value to another, then stays."""

    start: float = _rate(100)
    end: float = _rate(1000)
    over: float = _time(120, least_s=1)
    begin: float = _time(0)

    def rate_at(self, t_s: FloatArray, key: int) -> FloatArray:
        return self.start + (self.end - self.start) * np.clip((t_s - self.begin) / self.over, 0.0, 1.0)

    @property
    def settled_s(self) -> float:
        return self.begin + self.over


@dataclass(frozen=True, slots=True)
class Sine(Term):
    """A sine around a mean; `phase` is how far it is ahead of one that starts at its mean and rises."""

    mean: float = _rate(1000)
    amplitude: float = _rate(500)
    period: float = _time(600, least_s=4)
    phase: float = _time(0)

    def rate_at(self, t_s: FloatArray, key: int) -> FloatArray:
        return self.mean + self.amplitude * np.sin(2 * np.pi * np.mod(t_s + self.phase, self.period) / self.period)


@dataclass(frozen=True, slots=True)
class Diurnal(Term):
    """A day from midnight on: lowest at 4 am, highest at 8 pm, smooth between."""

    low: float = _rate(100)
    high: float = _rate(1000)
    period: float = _time(86400, least_s=24)

    def rate_at(self, t_s: FloatArray, key: int) -> FloatArray:
        since_low = np.mod(t_s / self.period - 4 / 24, 1.0)
        rise = 16 / 24
        angle = np.where(since_low < rise, since_low / rise, 1 + (since_low - rise) / (1 - rise))
        return self.low + (self.high - self.low) * (1 - np.cos(np.pi * angle)) / 2

    def mistake(self) -> str | None:
        return f"low: found {self.low:g}, at most high ({self.high:g}) is allowed" if self.low > self.high else None


@dataclass(frozen=True, slots=True)
class Spikes(Term):
    """Smooth bumps at random times, one in every period `every`."""

    height: float = _rate(1000)
    every: float = _time(300, least_s=2)
    width: float = _time(20, least_s=2)

    def rate_at(self, t_s: FloatArray, key: int) -> FloatArray:
        stretch = np.floor(t_s / self.every).astype(np.int64)
        rate = np.zeros_like(t_s)
        for near in (stretch - 1, stretch, stretch + 1):
            off = (t_s - (near + uniform(key, near)) * self.every) / self.width
            inside = np.abs(off) < 0.5
            rate[inside] += self.height * (1 + np.cos(2 * np.pi * off[inside])) / 2
        return rate

    def mistake(self) -> str | None:
        return f"width: found {duration_words(self.width)}, at most every ({duration_words(self.every)}) is allowed" if self.width > self.every else None


@dataclass(frozen=True, slots=True)
class Noise(Term):
    """Uniform noise between -amplitude and +amplitude, drawn once in every period `every`."""

    amplitude: float = _rate(100)
    every: float = _time(1, least_s=1)

    def rate_at(self, t_s: FloatArray, key: int) -> FloatArray:
        return self.amplitude * (2 * uniform(key, np.floor(t_s / self.every).astype(np.int64)) - 1)


TERMS: dict[str, type[Term]] = {cls.__name__.lower(): cls for cls in (Constant, Step, Ramp, Sine, Diurnal, Spikes, Noise)}
