"""A named rate over time, such as `sine(mean=1000, amplitude=400, period=10m) + spikes`."""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from penstock.core.errors import UserMistake
from penstock.core.shapes.chance import FloatArray, key_of
from penstock.core.shapes.shape_terms import TERMS, Term

_TERM = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*(?:\((?P<values>[^()]*)\))?\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A sum of named terms, clipped at 0; the same text and seed give the same rates everywhere.

    >>> parse_shape("ramp(0, 1k, over=10s) + constant(5)").rate_at(np.array([0.0, 5.0, 60.0])).tolist()
    [5.0, 505.0, 1005.0]
    """

    terms: tuple[Term, ...]
    seed: int = 0

    def rate_at(self, t_s: FloatArray) -> FloatArray:
        """Return rows/s at these seconds since the start of the trace."""
        total = np.zeros_like(t_s, dtype=np.float64)
        for number, term in enumerate(self.terms):
            total += term.rate_at(t_s, key_of(self.seed, number))
        return np.maximum(total, 0.0)

    @property
    def settled_s(self) -> float:
        """The time from which on the rate is constant; infinite if it never is."""
        return max(term.settled_s for term in self.terms)

    def __str__(self) -> str:
        return " + ".join(str(term) for term in self.terms)


def parse_shape(text: str, seed: int = 0) -> Shape:
    """Read a sum of named shapes; parameters come by position or by name, and all have defaults.

    >>> str(parse_shape("constant(2k) + noise"))
    'constant(rate=2000) + noise(amplitude=100, every=1)'
    """
    return Shape(terms=tuple(_parse_term(part) for part in text.split("+")), seed=seed)


def _parse_term(text: str) -> Term:
    found = _TERM.fullmatch(text)
    if not found:
        raise UserMistake(f"shape: found {shortened(text.strip())}, a sum such as sine(mean=1k, amplitude=400, period=10m) + spikes is allowed")
    name = found["name"].lower()
    if name not in TERMS:
        raise UserMistake(f"shape: found {shortened(found['name'])}, known shapes are {', '.join(TERMS)}")
    readers: dict[str, Callable[[str], float]] = {each.name: each.metadata["read"] for each in fields(TERMS[name])}
    values = {}
    for parameter, value in _given(name, found["values"] or "", tuple(readers)).items():
        try:
            values[parameter] = readers[parameter](value)
        except UserMistake as mistake:
            raise UserMistake(f"shape {name}: {parameter}: {mistake}") from None
    term = TERMS[name](**values)
    if wrong := term.mistake():
        raise UserMistake(f"shape {name}: {wrong}")
    return term


def _given(shape: str, text: str, parameters: tuple[str, ...]) -> dict[str, str]:
    """Return the text of each parameter given."""
    given: dict[str, str] = {}
    known = f"its parameters are {', '.join(parameters)}"
    named = False
    for number, part in enumerate(text.split(",") if text.strip() else ()):
        name, equals, value = (word.strip() for word in part.rpartition("="))
        named = named or bool(equals)
        if named and not equals:
            raise UserMistake(f"shape {shape}: found {shortened(value)} after a named parameter; name it too, {known}")
        if not equals and number >= len(parameters):
            raise UserMistake(f"shape {shape}: found {shortened(value)} as value {number + 1}, {known}")
        parameter = name.lower() if equals else parameters[number]
        if parameter not in parameters:
            raise UserMistake(f"shape {shape}: found {shortened(name)}, {known}")
        if parameter in given:
            raise UserMistake(f"shape {shape}: {parameter}: found twice, once is allowed")
        given[parameter] = value
    return given


def shortened(text: str) -> str:
    """Return a text in quotes, cut to 60 characters."""
    return repr(text if len(text) <= 60 else text[:57] + "...")
