from typing import Any

import pytest
from assessed import NOW_S, assessed
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.policy_memory import ElasticMemory
from penstock.core.domain.reading import BatchParts, BatchReading, QueryReading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.assessment import Assessment
from penstock.core.policies.elastic import Elastic
from penstock.runtime.fakes import blank_reading


def after(*took_s: float, interval_s: float = 10.0, running: int | None = None, executors: int = 4, **known: Any) -> Assessment:
    """Batches that took so long, the newest committed now and each ten seconds after the one before."""
    each = tuple(BatchReading(number=place + 1, rows=1.0, took_s=took, since_s=10.0 * (len(took_s) - place - 1)) for place, took in enumerate(took_s))
    parts = BatchParts(total_s=sum(took_s) / len(took_s), each=each) if took_s else None
    query = QueryReading(name="q", state="running", trigger=Trigger(interval_s=interval_s), rate_limit_rows_per_s=None, batches=len(each), batch=parts)
    reading = blank_reading(NOW_S, queries=(query,), executors_running=running or executors, executors_requested=executors)
    return assessed(**{"plant": "micro_batch", "reading": reading, "executors": executors, "stops": frozenset(), **known})


EXPLAINED: dict[str, tuple[Assessment, tuple[Any, ...]]] = {
    "the first batch weighs against one full interval": (after(20.0), (7, "occupation_high", 1.625, 1.0)),
    "three long ones weigh more": (after(20.0, 20.0, 20.0), (8, "occupation_high", 1.901, 1.0)),
    "short ones let executors go": (after(2.0, 2.0, 2.0), (2, "occupation_low", 0.279, 0.75)),
    "batches that fill most of the interval": (after(8.0, 8.0), (4, "occupation_suits", 0.837, 1.0)),
    "an executor less would be too few": (after(7.2, 7.2, 7.2, 7.2, executors=1), (1, "occupation_suits", 0.736, 1.0)),
    "no more are allowed": (after(40.0, executors=12), (12, "limits", 35, 12)),
    "a change is under way": (after(20.0, running=3), (4, "change_under_way", 3, 4)),
    "nothing was committed": (after(), (4, "no_new_batch", None, None)),
    "there is no interval to fill": (after(2.0, interval_s=0.0), (4, "no_new_batch", None, None)),
    "tasks never end": (after(2.0, plant="continuous"), (4, "tasks_run_always", None, None)),
}


@pytest.mark.parametrize(("seen", "expected"), EXPLAINED.values(), ids=EXPLAINED)
def test_a_decision_names_its_reason_with_its_numbers(seen: Assessment, expected: tuple[Any, ...]) -> None:
    decision = Elastic().decide(seen)
    value = decision.why.value
    assert (decision.executors, decision.why.code, None if value is None else round(value, 3), decision.why.limit) == expected


def test_a_batch_counts_once() -> None:
    first = Elastic().decide(after(20.0, 20.0))
    again = Elastic().decide(after(20.0, 20.0, memory=first.memory))
    assert again.why.code == "no_new_batch" and again.memory == first.memory


def test_earlier_batches_fade_by_the_factor() -> None:
    known = ElasticMemory(occupations=3.0, weights=2.0, newest_s=NOW_S - 5.0)
    memory = Elastic().decide(after(9.0, memory=known)).memory
    assert memory == ElasticMemory(occupations=0.6 * 3.0 + 0.9, weights=0.6 * 2.0 + 1.0, newest_s=NOW_S)


@given(took_s=st.lists(st.floats(0.0, 100.0), min_size=1, max_size=8), executors=st.integers(1, 12), longer=st.floats(1.0, 3.0))
def test_longer_batches_never_mean_fewer_executors(took_s: list[float], executors: int, longer: float) -> None:
    now, then = (Elastic().decide(after(*(factor * took for took in took_s), executors=executors)) for factor in (1.0, longer))
    assert 1 <= now.executors <= then.executors <= 12
    assert now.direction == "keep" or (now.direction == "up") == (now.why.code == "occupation_high")
