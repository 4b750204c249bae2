import queue
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import taught

from penstock.core.knowledge.fitting import FitAsked, FitDone, fitted
from penstock.core.models.latency.latency_by_executors import LatencyByExecutors
from penstock.ports import Fitter
from penstock.runtime.fitter import InlineFitter, ProcessFitter

PATIENCE_S = 100.0
FITTERS: list[Any] = [pytest.param(InlineFitter, id="inline"), pytest.param(lambda: ProcessFitter(2048, PATIENCE_S), id="process")]
FORECAST = FitAsked(number=3, load=taught.load())
TABLE = FitAsked(number=4, profile=taught.profile(), executor_counts=(1, 2, 4), most_rows_per_s=3000.0)
HOPELESS = FitAsked(number=5, profile=LatencyByExecutors(), executor_counts=(1,), most_rows_per_s=10.0)
BROKEN = FitAsked(number=6, profile=taught.profile(), executor_counts=(), most_rows_per_s=float("nan"))


class Asking:
    """A fitter, and its reports in the order in which they came."""

    def __init__(self, fitter: Fitter) -> None:
        self.fitter = fitter
        self.reports: queue.Queue[FitDone] = queue.Queue()

    def __call__(self, *asked: FitAsked) -> list[FitDone]:
        for each in asked:
            self.fitter.ask(each, self.reports.put)
        return [self.reports.get(timeout=PATIENCE_S) for _ in asked]


@pytest.fixture(params=FITTERS, scope="module")
def asking(request: pytest.FixtureRequest) -> Iterator[Asking]:
    opener: Callable[[], Fitter] = request.param
    fitter = opener()
    yield Asking(fitter)
    fitter.close()


def without_time(done: FitDone) -> FitDone:
    return replace(done, took_s=0.0)


def test_every_fit_that_is_asked_for_is_reported_once_with_its_number(asking: Asking) -> None:
    assert [done.number for done in asking(FitAsked(number=1), FitAsked(number=2))] == [1, 2]
    assert asking.reports.empty()


@pytest.mark.parametrize("asked", [pytest.param(FORECAST, marks=pytest.mark.slow, id="forecast"), pytest.param(TABLE, id="table")])
def test_what_is_found_is_what_the_core_finds_to_the_last_bit(asking: Asking, asked: FitAsked) -> None:
    (done,) = asking(asked)
    assert without_time(done) == fitted(asked) and done.error == "" and done.took_s >= 0.0
    assert (done.fits is None) == (asked.load is None) and (done.table is None) == (asked.profile is None)


@pytest.mark.parametrize("asked", [HOPELESS, BROKEN], ids=["too little is known", "it raises"])
def test_a_fit_that_comes_to_nothing_is_reported_in_words(asking: Asking, asked: FitAsked) -> None:
    (done,) = asking(asked)
    assert done.number == asked.number and done.table is None and done.error
    assert asking(FitAsked(number=9))[0].error == "", "and the next one is fitted"


@pytest.mark.parametrize("opener", FITTERS)
def test_a_closed_fitter_says_so_and_may_be_closed_again(opener: Callable[[], Fitter]) -> None:
    asking = Asking(opener())
    asking.fitter.close()
    asking.fitter.close()
    assert asking(FitAsked(number=1)) == [FitDone(number=1, took_s=0.0, error="the fitter was closed")]
