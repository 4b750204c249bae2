"""Fits in the process that asks for them."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.fitting import FitAsked, FitDone, fitted


class InlineFitter:
    """Fits at once, in the turn that asks: time stands still meanwhile, so a simulation is the same every time."""

    def __init__(self) -> None:
        self._closed = False

    def ask(self, asked: FitAsked, report: Callable[[FitDone], None]) -> None:
        report(FitDone(number=asked.number, took_s=0.0, error="the fitter was closed") if self._closed else self._fitted(asked))

    def close(self) -> None:
        self._closed = True

    def _fitted(self, asked: FitAsked) -> FitDone:
        try:
            return fitted(asked)
        except Exception as error:
            return FitDone(number=asked.number, took_s=0.0, error=f"{type(error).__name__}: {error}")
