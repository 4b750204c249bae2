from dataclasses import replace
from typing import Any

import pytest
from changes import rescaled, scaled_to
from hypothesis import given
from hypothesis import strategies as st
from planned import LIMITS, Thumb, assessed, wants

from penstock.core.domain.autopilot import Autopilot, Floor
from penstock.core.domain.decision import Comparison, Decision, Recommended
from penstock.core.domain.hours import Hours
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import QueryReading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.steering import Applied, Blocked, Effects
from penstock.core.models.estimate import Estimate
from penstock.core.plan.guards import Guarding, guarded, guards_on
from penstock.core.plan.owner import Allowed, owner_allows
from penstock.runtime.fakes import blank_reading

ALWAYS, NEVER = Hours(), Hours(days=())
EXECUTORS = st.integers(LIMITS.min_executors, LIMITS.max_executors)
AUTOPILOTS = st.builds(
    Autopilot, mode=st.sampled_from(["shadow", "ask", "active"]), only=st.sampled_from(["both", "up", "down"]),
    max_step=st.none() | st.integers(1, 4), quota_executors=st.none() | EXECUTORS, hours=st.sampled_from([(), (ALWAYS,), (NEVER,)]),
    exclude=st.sampled_from([(), (ALWAYS,), (NEVER,)]),
    calendar=st.lists(st.builds(Floor, name=st.just("sale"), min_executors=st.integers(1, 10)), max_size=2).map(tuple),
)  # fmt: skip
CHANGES = st.builds(rescaled, EXECUTORS, EXECUTORS)
RESCALES = st.none() | st.builds(Applied, number=st.just(1), decision_id=st.none(), change=CHANGES, at_s=st.floats(0, 1000))
BLOCKED = st.none() | st.builds(Blocked, configuration=EXECUTORS.map(scaled_to), until_s=st.floats(0, 2000), bottleneck=st.just("partitions"))
EARLIER = st.lists(st.builds(Recommended, at_s=st.floats(0, 999), configuration=EXECUTORS.map(scaled_to)), max_size=4).map(tuple)
LATENCIES = st.dictionaries(EXECUTORS, st.floats(0.1, 10.0).map(lambda s: Estimate(value=s, low=s, high=s)), max_size=8)
WANTED = st.integers(-3, 20)


def settled(
    decision: Decision, *, on: bool = True, rescale: Applied | None = None, blocked: Blocked | None = None, known: Any = None, **autopilot: Any
) -> Decision:
    seen = assessed(current=decision.current.executors, **(known or {}))
    return guarded(seen, decision, Guarding(autopilot=Autopilot(mode="active", **autopilot), on=on, rescale=rescale, effects=Effects(blocked=blocked)))


def asked(before: int, after: int, at_s: float) -> Applied:
    return Applied(number=1, decision_id=None, change=rescaled(before, after), at_s=at_s)


@given(AUTOPILOTS, RESCALES, BLOCKED, EARLIER, LATENCIES, EXECUTORS, WANTED, st.booleans())
def test_the_target_stays_within_limits_and_quota(
    autopilot: Autopilot, rescale: Applied | None, blocked: Blocked | None, earlier: Any, latencies: Any, current: int, wanted: int, on: bool
) -> None:
    seen = assessed(current=current, earlier=earlier, latencies=latencies, promises=Promises(latency_p95_s=2.0))
    final = guarded(seen, wants(wanted, current), Guarding(autopilot=autopilot, on=on, rescale=rescale, effects=Effects(blocked=blocked)))
    most = LIMITS.max_executors if autopilot.quota_executors is None else autopilot.quota_executors
    assert LIMITS.min_executors <= final.executors <= most
    assert (final.executors == wanted) or final.guards, "a guard that changed the executors is named"


@given(AUTOPILOTS, EXECUTORS, WANTED)
def test_a_guard_never_widens_what_a_stronger_one_allows(autopilot: Autopilot, current: int, wanted: int) -> None:
    final = owner_allows(wants(wanted, current), Allowed(autopilot=autopilot, limits=LIMITS, at_s=0.0)).executors
    if autopilot.quota_executors is not None and current > autopilot.quota_executors:
        return
    if autopilot.max_step is not None:
        assert abs(final - current) <= autopilot.max_step
    if not autopilot.calendar:
        assert autopilot.only != "up" or final >= current
        assert autopilot.only != "down" or final <= current
        if ALWAYS in autopilot.exclude or autopilot.hours == (NEVER,):
            assert final == current


@given(AUTOPILOTS, EXECUTORS, WANTED)
def test_what_the_owner_allows_is_allowed_again(autopilot: Autopilot, current: int, wanted: int) -> None:
    allowed = Allowed(autopilot=autopilot, limits=LIMITS, at_s=0.0)
    once = owner_allows(wants(wanted, current), allowed)
    assert owner_allows(wants(once.executors, current), allowed).executors == once.executors


OWNED: list[tuple[Any, int, int, list[tuple[str, float, float]]]] = [
    ({}, 5, 5, []),
    ({"quota_executors": 4}, 7, 4, [("quota", 7.0, 4.0)]),
    ({"max_step": 2}, 7, 5, [("step", 7.0, 2.0)]),
    ({"max_step": 1}, 1, 2, [("step", 1.0, 1.0)]),
    ({"only": "up"}, 1, 3, [("only", 1.0, 3.0)]),
    ({"only": "down"}, 5, 3, [("only", 5.0, 3.0)]),
    ({"exclude": (ALWAYS,)}, 5, 3, [("hours", 5.0, 3.0)]),
    ({"hours": (NEVER,)}, 1, 3, [("hours", 1.0, 3.0)]),
    ({}, 11, 8, [("limits", 11.0, 8.0)]),
    ({"max_step": 4, "quota_executors": 5}, 9, 5, [("step", 9.0, 4.0), ("quota", 7.0, 5.0)]),
]


@pytest.mark.parametrize(("autopilot", "wanted", "left", "why"), OWNED)
def test_each_wish_of_the_owner_has_its_own_code(autopilot: Any, wanted: int, left: int, why: list[tuple[str, float, float]]) -> None:
    final = settled(wants(wanted), on=False, **autopilot)
    assert (final.executors, final.guards) == (left, tuple(Comparison(code=code, value=value, limit=limit) for code, value, limit in why))
    assert all(guard.words() for guard in final.guards)
    assert settled(wants(5, 5), on=False, quota_executors=2, only="up").executors == 2, "a lowered quota is followed even if the policy keeps"


def test_down_waits_for_the_most_that_was_recommended_within_the_window() -> None:
    earlier = tuple(Recommended(at_s=at_s, configuration=scaled_to(executors)) for at_s, executors in ((500.0, 6), (800.0, 4), (900.0, 2)))
    final = settled(wants(1, 5), known={"earlier": earlier})
    assert (final.executors, final.guards) == (4, (Comparison(code="slower_down", value=1.0, limit=4.0),))
    assert settled(wants(1, 5), known={"earlier": earlier}, time_scale=0.5).executors == 2, "days of half the length, windows of half the length"
    assert settled(wants(1, 5), known={"earlier": earlier}, on=False).executors == 1
    assert settled(wants(7, 5), known={"earlier": earlier}).executors == 7, "up waits for nothing"


def test_nothing_is_given_away_soon_after_a_scale_up() -> None:
    for rescale, left in ((asked(2, 5, 800.0), 5), (asked(2, 5, 600.0), 1), (asked(7, 5, 800.0), 1)):
        assert settled(wants(1, 5), rescale=rescale).executors == left


def test_the_fewest_executors_that_keep_the_promised_latency_are_taken_if_any_do() -> None:
    latencies = {executors: Estimate(value=seconds, low=seconds, high=seconds) for executors, seconds in ((3, 9.0), (4, 5.0), (5, 1.5), (6, 1.0))}
    final = settled(wants(3), known={"latencies": latencies, "promises": Promises(latency_p95_s=2.0)})
    assert (final.executors, final.guards) == (5, (Comparison(code="latency", value=9.0, limit=2.0),))
    assert settled(wants(3), known={"latencies": latencies, "promises": Promises(latency_p95_s=0.5)}).executors == 3, "no number of executors keeps it"
    assert settled(wants(3), known={"latencies": latencies}).executors == 3, "nothing is promised"
    assert settled(wants(2), known={"latencies": latencies, "promises": Promises(latency_p95_s=2.0)}).executors == 2, "nothing is known of two"


def test_more_than_what_brought_nothing_is_not_tried_again_until_its_time() -> None:
    blocked = Blocked(configuration=scaled_to(4), until_s=1500.0, bottleneck="partitions")
    final = settled(wants(7, 2), blocked=blocked)
    assert (final.executors, final.guards) == (4, (Comparison(code="ineffective", value=7.0, limit=4.0),))
    assert settled(wants(7, 6), blocked=blocked).executors == 6, "what an operator set above it is not taken back"
    assert settled(wants(7, 2), blocked=replace(blocked, until_s=900.0)).executors == 7


def test_shared_guards_are_off_for_a_policy_faithful_to_a_paper_unless_its_owner_wants_them() -> None:
    asked = {guards: [guards_on(Autopilot(guards=guards), Thumb(faithful=faithful)) for faithful in (True, False)] for guards in ("auto", "on", "off")}
    assert asked == {"auto": [False, True], "on": [True, True], "off": [False, False]}


@pytest.mark.parametrize(
    ("query", "executors"),
    [
        pytest.param({"lag_rows": 250_000.0, "uptime_s": 20.0}, 4, id="restarted far behind: neither latency nor excess lag is known"),
        pytest.param({"lag_rows": 9.0, "excess_lag_rows": 0.0, "since_commit_s": 40.0, "uptime_s": 20.0}, 4, id="no commit since its start"),
        pytest.param({"lag_rows": 9.0, "excess_lag_rows": 0.0, "since_commit_s": 5.0, "uptime_s": 20.0}, 1, id="it has committed"),
        pytest.param({"lag_rows": 0.0, "excess_lag_rows": 0.0, "uptime_s": 20.0}, 1, id="nothing waits"),
        pytest.param({"lag_rows": 9.0, "excess_lag_rows": 9.0, "trigger": Trigger.parse("realtime:5m")}, 1, id="Real-Time Mode counts what it processed"),
        pytest.param({"state": "given up"}, 1, id="one that was given up"),
    ],
)
@pytest.mark.parametrize("on", [True, False])
def test_nothing_scales_down_while_it_is_not_known_what_waits(query: dict[str, Any], executors: int, on: bool) -> None:
    known = QueryReading(**{"name": "q", "state": "running", "trigger": Trigger(interval_s=2.0), "rate_limit_rows_per_s": None, **query})
    final = settled(wants(1, 4), on=on, known={"reading": blank_reading(1000.0, queries=(known,))})
    assert final.executors == executors and [each.code for each in final.guards] == (["lag_unknown"] if executors == 4 else [])
    assert final.next_after_s == (0.0 if executors == 4 else None), "it looks again at the next reading"
    assert settled(wants(6, 4), on=on, known={"reading": blank_reading(1000.0, queries=(known,))}).executors == 6, "up is another matter"


@pytest.mark.parametrize(
    ("query", "lag_s", "code", "executors"),
    [
        pytest.param({"batches_run": 1, "uptime_s": 20.0}, 3.0, "utilization_above_target", 4, id="the first batch says little"),
        pytest.param({"batches_run": 1, "uptime_s": 20.0}, 9.0, "utilization_above_target", 6, id="the promise is at stake"),
        pytest.param({"batches_run": 3, "uptime_s": 20.0}, 3.0, "utilization_above_target", 6, id="a few have run"),
        pytest.param({"batches_run": 1, "batches": 5, "uptime_s": 20.0}, 3.0, "utilization_above_target", 4, id="those of the run before do not count"),
        pytest.param({"batches_run": 1, "uptime_s": 300.0}, 3.0, "utilization_above_target", 6, id="long batches"),
        pytest.param({"batches_run": 1, "uptime_s": 20.0}, 3.0, "smallest_that_holds", 6, id="another reason"),
    ],
)
def test_first_batches_do_not_cause_a_scale_up_by_utilisation(query: dict[str, Any], lag_s: float, code: str, executors: int) -> None:
    known = QueryReading(name="q", state="running", trigger=Trigger(interval_s=2.0), rate_limit_rows_per_s=None, **query)
    wanted = replace(wants(6, 4), why=Comparison(code=code, value=1.0, limit=0.7))
    seen = {"reading": blank_reading(1000.0, queries=(known,), lag_s=lag_s), "promises": Promises(latency_p95_s=8.0), "plant": "micro_batch"}
    final = settled(wanted, known=seen)
    assert final.executors == executors and [each.code for each in final.guards] == (["cold"] if executors == 4 else [])
    assert settled(wanted, on=False, known=seen).executors == 6, "a faithful policy is left alone"
