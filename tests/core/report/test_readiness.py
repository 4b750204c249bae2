from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from changes import scaled_to
from hypothesis import given
from hypothesis import strategies as st
from planned import terms, wants

from penstock.core.domain.decision import Candidate
from penstock.core.domain.events.autopilot_events import Decided, Graded, PromiseBroken, Recovered
from penstock.core.domain.events.event import Event
from penstock.core.domain.prediction import Prediction
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.terms import Terms
from penstock.core.report.readiness import Readiness, readiness
from penstock.runtime.fakes import blank_reading

PROMISED = terms("shadow", latency_p95_s=2.0)
SIX_HOURS_S = 6 * 3600


def run(seconds: int = SIX_HOURS_S, executors: int = 4, **known: Any) -> list[Reading]:
    usual = {"executors_running": executors, "executors_requested": executors, "arrival_rows_per_s": 250.0}
    return [blank_reading(float(at_s), **{**usual, **known}) for at_s in range(0, seconds + 1, 60)]


def decided(at_s: float, wanted: int, current: int, **more: Any) -> Decided:
    return Decided(id=1, at_s=at_s, mode="shadow", policy="thumb", decision=wants(wanted, current), effect="shadow", **more)


def latency(value: float) -> tuple[Prediction, ...]:
    return (Prediction(kind="latency", made_s=0.0, value=value, low=value, high=value, configuration=scaled_to(3), due_s=60.0),)


def graded(kind: Any, predicted: float, count: int) -> list[Event]:
    one = Graded(at_s=100.0, kind=kind, about="", made_s=0.0, predicted=predicted, low=0.0, high=9.0, actual=1.0, configuration=scaled_to(3))
    return [one] * count


PROVEN = graded("capacity", 1.1, 1)
"""One overload that showed what a configuration can do."""


def judged(readings: list[Reading], events: Sequence[Event], under: Terms = PROMISED) -> Readiness:
    found = readiness(readings, events, under)
    assert found is not None
    return found


def codes(*events: Event, readings: list[Reading] | None = None) -> list[tuple[str, str]]:
    found = judged(run() if readings is None else readings, events)
    assert found.ready is (not found.reasons)
    assert all(each.why.words() for each in found.reasons)
    return [(each.about, each.why.code) for each in found.reasons]


def test_a_shadow_long_enough_right_often_enough_and_no_worse_is_ready() -> None:
    events = [decided(0.0, 3, 4, others=latency(1.0)), *graded("latency", 1.2, 20), *graded("capacity", 1.1, 3)]
    found = judged(run(), events)
    assert found.ready and (found.policy, found.from_s, found.until_s) == ("thumb", 0.0, SIX_HOURS_S)
    assert (found.shadow_s, found.shadow.executor_s, found.run.executor_s) == (SIX_HOURS_S, 3 * SIX_HOURS_S, 4 * SIX_HOURS_S)
    assert (found.shadow.ups, found.shadow.downs, found.run.ups, found.run.downs) == (0, 1, 0, 0)
    errors: Any = found.errors
    assert errors == {"latency": (pytest.approx(0.2), 20), "capacity": (pytest.approx(0.1), 3)}


def test_readiness_says_why_not() -> None:
    first = decided(0.0, 3, 4, others=latency(1.0))
    assert codes(decided(0.0, 3, 4), *PROVEN, readings=run(3600)) == [("", "shadow_too_short")]
    assert codes(first, *graded("latency", 1.0, 19)) == [("latency", "too_few_grades")]
    assert codes(first, *graded("latency", 1.3, 20)) == [("latency", "error_too_large")]
    assert codes(decided(0.0, 3, 4), *graded("recovery", 1.36, 20)) == [("recovery", "error_too_large")]
    assert codes(decided(0.0, 3, 4, capacity_rows_per_s=200.0), *PROVEN) == [("", "more_breaks")]
    assert codes(decided(0.0, 3, 4, others=latency(2.5)), *graded("latency", 1.0, 20)) == [("", "more_breaks")]


def test_a_shadow_that_proved_nothing_is_not_ready() -> None:
    """hpa, reactive, static, spark_dra and ds2 predict nothing; Daedalus in a calm Real-Time Mode predicts what nothing shows."""
    capacity = Prediction(kind="capacity", made_s=0.0, value=300.0, low=250.0, high=350.0, configuration=scaled_to(3), expires_s=900.0)
    assert codes(decided(0.0, 3, 4)) == [("", "nothing_proven")]
    assert codes(decided(0.0, 3, 4, others=(capacity,)), *graded("forecast", 1.0, 99)) == [("", "nothing_proven")]
    assert codes(decided(0.0, 3, 4, others=(capacity,)), *PROVEN) == []
    assert codes(decided(0.0, 3, 4, others=latency(1.0))) == [("latency", "too_few_grades")], "which says it already"


def test_a_few_recoveries_say_little_for_or_against() -> None:
    """`penstock grade` calls fewer than 20 grades few; one loss that was predicted badly is no proof that the policy is wrong, and none that it is right."""
    once, first = graded("recovery", 5.5, 1), decided(0.0, 3, 4)
    assert codes(first, *once, *PROVEN) == []
    assert codes(first, *once) == [("", "nothing_proven")]
    assert codes(first, *graded("recovery", 1.2, 1)) == []


def test_a_policy_that_never_knew_enough_is_not_ready() -> None:
    """Phoebe without a profile keeps the executors for ever."""
    waits = replace(decided(0.0, 4, 4), decision=wants(4, 4, code="not_ready"), effect="kept")
    owner = replace(decided(60.0, 5, 4), decision=wants(5, 4, code="between_decisions"))
    assert codes(waits) == codes(waits, owner, *PROVEN) == [("", "never_decided")]
    assert codes(waits, decided(600.0, 3, 4), *PROVEN) == []


def test_a_shadow_may_break_as_many_promises_as_what_was_run() -> None:
    broken = PromiseBroken(at_s=600.0, promise="latency p95", value=3.0, limit=2.0)
    short = [decided(0.0, 3, 4, capacity_rows_per_s=200.0), decided(300.0, 4, 3, capacity_rows_per_s=300.0)]
    assert codes(*short, *PROVEN) == [("", "more_breaks")]
    assert codes(*short, *PROVEN, broken) == []
    assert codes(short[0], *PROVEN, broken) == [("", "more_breaks")], "what stays broken is broken again"


def test_a_shadow_counts_from_the_last_decision_in_another_mode() -> None:
    active = replace(decided(SIX_HOURS_S / 2, 3, 4), mode="active")
    assert codes(decided(0.0, 3, 4), *PROVEN, active, decided(SIX_HOURS_S / 2 + 60.0, 3, 3)) == [("", "shadow_too_short"), ("", "nothing_proven")]


def test_a_policy_is_not_credited_with_the_shadow_of_the_one_before_it() -> None:
    of_other = graded("latency", 1.0, 20)
    later = replace(decided(SIX_HOURS_S / 2, 3, 4, others=latency(1.0)), policy="half")
    graded_later = [replace(each, at_s=SIX_HOURS_S / 2 + 30.0) for each in of_other if isinstance(each, Graded)]
    found = judged(run(), [decided(0.0, 3, 4, others=latency(1.0)), *of_other, later, *graded_later])
    assert (found.policy, found.shadow_s, found.errors) == ("half", SIX_HOURS_S / 2, {})


def test_a_recovery_longer_than_promised_is_a_promise_that_the_shadow_would_break() -> None:
    under = terms("shadow", recovery_s=60.0)
    weighed = (Candidate(configuration=scaled_to(2), recovery_s=90.0), Candidate(configuration=scaled_to(3), recovery_s=50.0))
    lost = Recovered(at_s=200.0, kind="executor_loss", started_s=120.0, took_s=30.0, alone=True)
    slow = replace(lost, took_s=80.0)

    def breaks(executors: int, *recovered: Recovered, **more: Any) -> int:
        first = decided(0.0, executors, 4, **more)
        first = replace(first, decision=replace(first.decision, candidates=weighed))
        return judged(run(), [first, *recovered], under).shadow.broken

    assert (breaks(2), breaks(2, lost), breaks(2, lost, replace(lost, kind="query_restart"))) == (0, 1, 1), "those that end together are one"
    assert breaks(3, slow) == 0, "its own configuration was predicted to recover in time"
    assert (breaks(4, lost), breaks(4, slow)) == (0, 1), "the configuration that ran shows what it takes"
    assert (breaks(5, lost), breaks(5, slow)) == (0, 1), "nothing was predicted"
    assert breaks(2, replace(lost, kind="rescale_up"), replace(lost, kind="unannounced")) == 0, "rescales of the job are not those of the shadow"
    rescale = Prediction(kind="recovery", made_s=0.0, value=70.0, low=70.0, high=70.0, configuration=scaled_to(3), about="rescale_down")
    assert breaks(3, others=(rescale,)) == 1
    assert judged(run(), [decided(0.0, 3, 4, others=(rescale,)), lost], terms("shadow")).shadow.broken == 0, "nothing is promised"


def test_hours_are_of_the_jobs_own_time() -> None:
    fast = terms("shadow", time_scale=0.1)
    assert judged(run(SIX_HOURS_S // 10), [decided(0.0, 3, 4), *PROVEN], fast).ready


def test_a_night_without_the_job_is_no_time_in_shadow() -> None:
    late = [replace(reading, at_s=reading.at_s + 40_000.0) for reading in run(3600)]
    assert judged([*run(3600), *late], [decided(0.0, 3, 4)]).shadow_s == 7260.0, "the reading before it holds for one usual interval"


def test_a_job_that_was_never_in_shadow_is_not_judged() -> None:
    assert readiness(run(), [], PROMISED) is None
    assert readiness(run(), [replace(decided(0.0, 3, 4), mode="active")], PROMISED) is None


def test_only_the_part_in_shadow_is_judged_when_another_mode_came_after_it() -> None:
    active = replace(decided(3600.0, 2, 3), mode="active")
    late = [PromiseBroken(at_s=5000.0, promise="latency p95", value=3.0, limit=2.0), *graded("latency", 9.0, 1)]
    found = judged(run(), [decided(0.0, 3, 4), active, *(replace(each, at_s=5000.0) for each in late)])
    assert (found.shadow_s, found.until_s, found.shadow.executor_s) == (3540.0, 3540.0, 3 * 3540.0)
    assert (found.run.broken, found.errors) == (0, {})


def test_agreement_is_by_time() -> None:
    events = [decided(0.0, 3, 4), decided(3600.0, 4, 3), decided(5400.0, 5, 4)]
    agreement = judged(run(7200), events).agreement
    assert agreement is not None and (agreement.fewer, agreement.same, agreement.more) == pytest.approx((0.5, 0.25, 0.25))
    assert judged([], events).agreement is None


def test_what_is_predicted_of_the_configuration_that_runs_breaks_no_promise_of_the_one_in_shadow() -> None:
    of_both = (*latency(1.0), replace(latency(2.5)[0], configuration=scaled_to(4)))
    assert codes(decided(0.0, 3, 4, others=of_both), *graded("latency", 1.0, 20)) == []


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 8)), min_size=1, max_size=8))
def test_executor_seconds_are_those_of_the_steps(steps: list[tuple[int, int]]) -> None:
    minutes = dict(sorted({0: 4, **dict(steps)}.items()))
    events = [decided(60.0 * minute, executors, 4) for minute, executors in minutes.items()]
    truth = sum(60.0 * (end - minute) * executors for (minute, executors), end in zip(minutes.items(), [*list(minutes)[1:], 60], strict=True))
    assert judged(run(3600), events).shadow.executor_s == pytest.approx(truth)
