from dataclasses import replace
from typing import Any

import pytest
from changes import rescaled, scaled_to, scaling
from hypothesis import given
from hypothesis import strategies as st
from planned import knowing, of, terms, trying

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.decision import Comparison
from penstock.core.domain.events.autopilot_events import ScalingIneffective
from penstock.core.domain.hours import Hours
from penstock.core.domain.reading import BatchParts, QueryReading, Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.knowledge import Author, Hold, Knowledge, Pending
from penstock.core.knowledge.steering import Blocked, Effects, Paused, Trust
from penstock.core.plan.effect import watch_effect, with_trial
from penstock.runtime.fakes import blank_reading

TRIAL = trying(2, 4, 1000.0, since_s=0.0)
TOO_FEW = Comparison(code="partitions", value=2.0, limit=4.0)
SETTLED = Autopilot().settled_s


def reading(at_s: float = SETTLED, **known: Any) -> Reading:
    usual = {"executors_running": 4, "executors_requested": 4, "throughput_rows_per_s": 1010.0, "excess_lag_rows": 50_000.0}
    return blank_reading(at_s, **{**usual, **known})


def on_trial(last: Reading, executors: int = 4) -> Knowledge:
    return knowing(executors=executors, last=last, trial=TRIAL)


def judged(last: Reading, **autopilot: Any) -> tuple[Knowledge, list[Any]]:
    return watch_effect(on_trial(last), last.at_s, terms(**autopilot), lambda _: TOO_FEW)


def test_ineffective_scaling_is_reverted_and_its_bottleneck_named() -> None:
    after, events = judged(reading())
    assert after.desired.executors == 2
    assert after.effects.trial is None
    assert after.effects.blocked == Blocked(configuration=scaled_to(2), until_s=SETTLED + Autopilot().blocked_s, bottleneck="partitions")
    said = ScalingIneffective(
        at_s=SETTLED, decision_id=1, change=rescaled(2, 4), throughput_before_rows_per_s=1000.0, throughput_after_rows_per_s=1010.0, bottleneck=TOO_FEW
    )  # fmt: skip
    assert events == [said]
    assert "taken back: 2 tasks for 4 slots" in said.words()


@given(st.floats(0.0, 3000.0))
def test_a_tenth_of_the_proportional_gain_is_enough(throughput: float) -> None:
    after, events = judged(reading(throughput_rows_per_s=throughput))
    assert after.effects.trial is None
    assert bool(events) == (after.desired.executors == 2) == (throughput < 1100.0)


def test_a_job_that_has_caught_up_or_whose_executors_were_changed_meanwhile_is_not_judged() -> None:
    for last, executors in ((reading(excess_lag_rows=0.0), 4), (reading(), 6)):
        after, events = watch_effect(on_trial(last, executors), SETTLED, terms(), lambda _: TOO_FEW)
        assert (after.desired.executors, after.effects.trial, events) == (executors, None, [])


def test_time_counts_from_when_all_executors_are_there_with_enough_to_do_and_nothing_disturbs_them() -> None:
    pending = replace(on_trial(reading()), pending=(Pending(instruction=scaling(1, 2, 4), since_s=0.0),))
    for waiting in (pending, on_trial(reading(executors_running=3))):
        after, events = watch_effect(waiting, SETTLED, terms(), lambda _: TOO_FEW)
        assert (after.desired.executors, after.effects.trial, events) == (4, replace(TRIAL, since_s=SETTLED), [])
    little = reading(excess_lag_rows=10_000.0)
    for early in (reading(at_s=SETTLED - 1), reading(since_disturbance_s=30.0), reading(throughput_rows_per_s=None), reading(excess_lag_rows=None), little):
        after, events = judged(early)
        assert (after.desired.executors, after.effects.trial, events) == (4, TRIAL, [])


def test_what_holds_the_job_back_is_named_also_where_operator_or_owner_keep_the_executors() -> None:
    held = replace(on_trial(reading()), holds=(Hold(knob="executors", value="4", who="ann", until_s=1e9),))
    paused = replace(on_trial(reading()), trust=Trust(paused=Paused(who="ann", since_s=0.0, until_s=None)))
    by_hand = (watch_effect(each, SETTLED, terms(), lambda _: TOO_FEW) for each in (held, paused))
    for after, events in (*by_hand, judged(reading(), only="up"), judged(reading(), exclude=(Hours(),))):
        assert (after.desired.executors, after.effects.trial) == (4, None)
        assert [(each.kept, each.bottleneck) for each in of(ScalingIneffective, events)] == [(True, TOO_FEW)]
        assert "kept: 2 tasks for 4 slots" in events[0].words()
        assert watch_effect(after, SETTLED + 60.0, terms(), lambda _: TOO_FEW)[1] == [], "once"


def test_where_the_owner_allows_a_step_at_a_time_it_is_taken_back_step_by_step() -> None:
    after, events = judged(reading(), max_step=1)
    assert (after.desired.executors, after.effects.trial) == (3, replace(TRIAL, after=scaled_to(3), since_s=SETTLED))
    later = reading(2 * SETTLED, executors_running=3, executors_requested=3)
    after, again = watch_effect(replace(after, last=later), later.at_s, terms(max_step=1), lambda _: TOO_FEW)
    assert (after.desired.executors, after.effects.trial) == (2, None)
    assert [each.change.executors for each in (*events, *again)] == [(2, 4), (2, 3)]


def test_every_knob_that_the_decisions_on_trial_moved_goes_back_and_no_other() -> None:
    query = QueryReading(name="a", state="running", trigger=Trigger(interval_s=10.0), partitions=6, lag_rows=0.0)
    before, up = scaled_to(2, a="10s", b="10s"), scaled_to(3, a="1s", b="10s").having("partitions:a", 8)
    author, last = Author(decision_id=1, policy="thumb"), reading(executors_running=2, queries=(query,))
    first = replace(knowing(last=last), desired=before, effects=with_trial(Effects(), last, before, up, 1, 0.0)).wanting(up, author)
    by_hand = first.wanting(first.desired.having("rate-limit:a", 50.0).having("trigger:b", Trigger(interval_s=2.0)))
    more = by_hand.desired.having("executors", 4).having("kept-share:b", 0.5)
    tried = replace(by_hand, effects=with_trial(by_hand.effects, last, by_hand.desired, more, 2, 0.0)).wanting(more, author)
    held = replace(tried, holds=(Hold(knob="kept-share:b", value="50%", who="ann", until_s=1e9),))
    for knowledge, share in ((tried, 1.0), (held, 0.5)):
        after, _ = watch_effect(replace(knowledge, last=reading(queries=(query,))), SETTLED, terms(), lambda _: TOO_FEW)
        assert after.desired == by_hand.desired.having("executors", 2).having("trigger:a", Trigger(interval_s=10.0)).having("partitions:a", 6).having(
            "kept-share:b", share
        )


def test_a_query_for_which_nothing_waits_does_not_put_off_the_judgement() -> None:
    batch = BatchParts(total_s=20.0)
    busy = QueryReading(name="q", state="running", trigger=Trigger(interval_s=5.0), rate_limit_rows_per_s=None, since_commit_s=5.0, batch=batch, lag_rows=9.0)
    idle = replace(busy, name="idle", since_commit_s=None, batch=None, lag_rows=0.0)
    assert judged(reading(queries=(busy, idle)))[0].desired.executors == 2


def test_an_unknown_bottleneck_is_judged_by_the_throughput() -> None:
    unknown = Comparison(code="unknown_bottleneck", value=1010.0)
    _, events = watch_effect(on_trial(reading()), SETTLED, terms(), lambda _: unknown)
    assert [each.words() for each in events if "throughput went from 1,000 to 1,010 rows/s" in each.words()]


def test_only_scale_ups_in_overload_are_a_trial_and_those_that_follow_each_other_are_judged_together() -> None:
    overloaded, healthy = reading(executors_running=2), reading(excess_lag_rows=0.0)
    assert with_trial(Effects(), healthy, scaled_to(2), scaled_to(4), 1, 7.0).trial is None
    assert with_trial(Effects(), reading(throughput_rows_per_s=None), scaled_to(2), scaled_to(4), 1, 7.0).trial is None
    assert with_trial(Effects(trial=TRIAL), overloaded, scaled_to(4), scaled_to(3), 1, 7.0).trial is None
    assert with_trial(Effects(), overloaded, scaled_to(2), scaled_to(4), 1, 7.0).trial == trying(2, 4, 1010.0, since_s=7.0)
    assert with_trial(Effects(trial=TRIAL), reading(), scaled_to(4), scaled_to(6), 2, 60.0).trial == trying(2, 6, 1000.0, since_s=60.0, decision_id=2)


@pytest.mark.parametrize(("batch_s", "since_commit_s", "is_judged"), [(20.0, 5.0, True), (20.0, 90.0, False), (200.0, 5.0, False), (None, 60.0, False)])
def test_micro_batches_that_began_before_all_executors_were_there_say_nothing(batch_s: float | None, since_commit_s: float, is_judged: bool) -> None:
    """In overload a batch takes long: until it commits, the throughput is that of the executors before."""
    batch = None if batch_s is None else BatchParts(total_s=batch_s)
    query = QueryReading(
        name="q", state="running", trigger=Trigger(interval_s=5.0), rate_limit_rows_per_s=None, batch_id=7, since_commit_s=since_commit_s, batch=batch
    )
    after, events = judged(reading(queries=(query,)))
    assert (bool(events), after.effects.trial is None) == (is_judged, is_judged)
