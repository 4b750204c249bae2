from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Any

import pytest
from assessed import NOW_S, assessed
from changes import scaled_to
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.domain.decision import Decision, Recommended
from penstock.core.domain.job_spec import Limits
from penstock.core.domain.policy_memory import HpaMemory, Wanted
from penstock.core.domain.reading import BatchParts, ExecutorReading, QueryReading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.assessment import Assessment
from penstock.core.policies.hpa import Hpa, HpaPaper, Reactive
from penstock.runtime.fakes import blank_reading

SHARES = st.floats(0.0, 1.0)
EXECUTORS = st.integers(1, 12)
UPWARDS, DOWNWARDS = "utilization_above_target", "utilization_below_target"
STAYS = {"cpu_unknown", "within_tolerance", "stabilised", "limits", "executors_starting", "smallest_that_holds", "not_ready", "too_soon"}


def executor(number: int, **known: Any) -> ExecutorReading:
    return ExecutorReading(**{"executor_id": str(number), "host": "a", "slots": 1, "uptime_s": 3600.0, **known})


def busy(shares: Sequence[float | None], *, starting: int = 0, at_s: float = NOW_S, **known: Any) -> Assessment:
    """Executors that are so busy, some more that have just come, and as many wanted as there are unless given."""
    ready = (executor(number, cpu_cores=share, busyness=share) for number, share in enumerate(shares))
    listed = (*ready, *(executor(100 + number, cpu_cores=1.0, uptime_s=5.0) for number in range(starting)))
    asked, lag_rows = known.pop("requested", len(listed)), known.pop("lag_rows", None)
    reading = blank_reading(at_s, executors=listed, executors_running=len(listed), executors_requested=asked, excess_lag_rows=lag_rows)
    return assessed(**{"at_s": at_s, "reading": reading, "executors": len(listed), **known})


def decided(decision: Decision) -> tuple[Any, ...]:
    return decision.executors, decision.why.code, decision.why.value, decision.why.limit


def settled(policy: Hpa, seen: Assessment) -> Decision:
    decision = policy.decide(seen)
    later = replace(seen, at_s=seen.at_s + policy.stable_down_s, memory=decision.memory)
    return policy.decide(later)


SETTLED = {
    "half the target halves the executors": (0.4, 2, DOWNWARDS),
    "a tenth above the target is near enough": (0.87, 4, "within_tolerance"),
    "more than a tenth is not": (0.89, 5, UPWARDS),
    "a tenth below the target is near enough": (0.73, 4, "within_tolerance"),
    "one fewer would be too busy": (0.65, 4, "smallest_that_holds"),
}


@pytest.mark.parametrize(("share", "executors", "code"), SETTLED.values(), ids=SETTLED)
def test_four_executors_at_a_target_of_eight_tenths(share: float, executors: int, code: str) -> None:
    assert decided(settled(Hpa(), busy([share] * 4)))[:3] == (executors, code, pytest.approx(share))


@pytest.mark.parametrize(("count", "expected"), [(4, (8, UPWARDS, pytest.approx(0.8), 0.4)), (12, (12, "limits", 24, 12))], ids=["doubles", "at its limit"])
def test_twice_the_target_doubles_the_executors_up_to_the_limit(count: int, expected: tuple[Any, ...]) -> None:
    assert decided(Hpa(target=0.4).decide(busy([0.8] * count))) == expected


def test_fewer_are_taken_only_after_five_minutes() -> None:
    seen, executor_counts = busy([0.1] * 4), []
    for number in range(21):
        decision = Hpa().decide(replace(seen, at_s=NOW_S + 15.0 * number))
        executor_counts.append(decision.executors)
        seen = replace(seen, memory=decision.memory)
    assert executor_counts == [4] * 20 + [1]


def test_a_busy_moment_within_the_window_puts_it_off() -> None:
    memory: Any = None
    quiet, executor_counts = busy([0.1] * 4), dict[int, int]()
    for number in range(40):
        at_s = NOW_S + 15.0 * number
        decision = Hpa().decide(replace(busy([0.8] * 4) if number == 10 else quiet, at_s=at_s, memory=memory))
        executor_counts[number], memory = decision.executors, decision.memory
    assert [number for number in executor_counts if executor_counts[number] < 4] == list(range(30, 40))
    assert len(memory.wanted) == 20, "what it remembers is bounded"


@pytest.mark.parametrize(("most_grown", "executors", "wanted"), [(1.0, 1, 5), (1.0, 3, 7), (1.0, 6, 12), (0.5, 9, 14)])
def test_at_once_it_adds_four_or_a_share_of_those_that_run_rounded_up(most_grown: float, executors: int, wanted: int) -> None:
    """9 x 1.5 = 13.5 (kubernetes: calculateScaleUpLimitWithScalingRules)."""
    seen = busy([1.0] * executors, limits=Limits(min_executors=1, max_executors=100))
    assert Hpa(target=0.05, most_grown=most_grown).decide(seen).executors == wanted


def test_executors_that_start_count_as_idle_before_more_are_added() -> None:
    assert Hpa(target=0.5).decide(busy([0.9, 0.9])).executors == 4
    waiting = Hpa(target=0.5).decide(busy([0.9, 0.9], starting=2))
    assert decided(waiting) == (4, "executors_starting", pytest.approx(0.9), pytest.approx(0.45))
    assert Hpa(target=0.5).decide(busy([0.9, 0.9], requested=4, executors=4)).executors == 4


def test_executors_without_a_measurement_count_as_busy_before_a_scale_down() -> None:
    assert settled(Hpa(target=0.5), busy([0.2, 0.2])).executors == 1
    assert settled(Hpa(target=0.5), busy([0.2, 0.2, None, None])).executors == 4


def test_micro_batches_are_judged_by_task_time_and_not_by_cpu() -> None:
    both = tuple(executor(number, cpu_cores=0.1, busyness=0.8) for number in range(4))
    seen = busy([0.1] * 4, plant="micro_batch")
    assert Hpa(target=0.4).decide(replace(seen, reading=replace(seen.reading, executors=both))).executors == 8


@pytest.mark.parametrize("current", [2, 3, 6, 12])
def test_in_shadow_the_work_of_those_that_run_is_spread_over_those_that_would(current: int) -> None:
    assert settled(Hpa(most_added=100), busy([0.8] * 4, executors=current)).executors == 4


@pytest.mark.parametrize(("seen", "code"), [(busy([]), "not_ready"), (busy([None, None]), "cpu_unknown"), (busy([], starting=3, executors=4), "not_ready")])
def test_nothing_known_keeps_the_executors_and_an_unknown_cpu_is_named(seen: Assessment, code: str) -> None:
    assert (Hpa().decide(seen).executors, Hpa().decide(seen).why.code) == (seen.executors, code)


@given(shares=st.lists(SHARES, min_size=1, max_size=12), more=SHARES, starting=st.integers(0, 3), current=EXECUTORS, wanted=st.lists(EXECUTORS, max_size=5))
def test_more_utilisation_never_means_fewer_executors(shares: list[float], more: float, starting: int, current: int, wanted: list[int]) -> None:
    memory = HpaMemory(wanted=tuple(Wanted(at_s=NOW_S - 15.0 * (1 + number), executors=each) for number, each in enumerate(wanted)))
    less = Hpa().decide(busy(shares, starting=starting, executors=current, memory=memory))
    busier = Hpa().decide(busy([max(share, more) for share in shares], starting=starting, executors=current, memory=memory))
    assert less.executors <= busier.executors


@given(
    shares=st.lists(st.none() | SHARES, max_size=12), starting=st.integers(0, 3), current=EXECUTORS, target=st.floats(0.05, 1.0),
    since_s=st.none() | st.floats(0.0, 900.0),
)  # fmt: skip
def test_the_executors_are_allowed_and_the_reason_agrees_with_the_direction(
    shares: list[float | None], starting: int, current: int, target: float, since_s: float | None
) -> None:
    for policy in (Hpa(target=target), HpaPaper(target=target)):
        decision = settled(policy, busy(shares, starting=starting, executors=current, since_rescale_s=since_s))
        assert 1 <= decision.executors <= 12
        assert decision.why.code in {"up": {UPWARDS}, "down": {DOWNWARDS}, "keep": STAYS}[decision.direction]
        assert "?" not in decision.why.words() or decision.why.code == "not_ready"


@settings(max_examples=40)
@given(work=st.floats(0.0, 12.0), executors=EXECUTORS)
def test_under_a_constant_load_it_comes_to_rest_at_the_target(work: float, executors: int) -> None:
    memory: Any = None
    for number in range(80):
        decision = Hpa().decide(busy([min(1.0, work / executors)] * executors, at_s=NOW_S + 15.0 * number, memory=memory))
        executors, memory = decision.executors, decision.memory
    assert decision.direction == "keep"
    wanted = min(12, max(1, ceil(round(work / 0.8, 9))))
    assert executors == wanted or abs(work / executors / 0.8 - 1.0) <= 0.1 + 1e-9


def test_the_paper_waits_five_minutes_between_two_actions_of_either_kind() -> None:
    for share in (0.1, 1.0):
        assert decided(HpaPaper().decide(busy([share] * 4, since_rescale_s=299.0))) == (4, "too_soon", 299.0, 300.0)


def test_the_paper_ignores_executors_that_have_not_started() -> None:
    seen = busy([0.9, 0.9], starting=2)
    assert (Hpa(target=0.5).decide(seen).executors, Hpa(target=0.5).decide(seen).why.code) == (4, "executors_starting")
    assert (HpaPaper(target=0.4).decide(seen).executors, HpaPaper(target=0.4).decide(seen).why.code) == (5, UPWARDS)
    assert HpaPaper(target=0.5).decide(seen).why.code == "smallest_that_holds", "the two that have started need four, and four are there"


def test_the_paper_has_no_window_for_scaling_down() -> None:
    assert HpaPaper().decide(busy([0.4] * 4, since_rescale_s=300.0)).executors == 2
    assert HpaPaper().decide(busy([0.4] * 4)).executors == 2
    assert (HpaPaper().decide(busy([0.4] * 4)).policy, HpaPaper().decide(busy([0.4] * 4)).memory) == ("hpa_paper", HpaMemory())


ALL = (Hpa(stable_down_s=0.0), HpaPaper(), Reactive(stable_down_s=0.0))


def batched(executors: tuple[ExecutorReading, ...], row_s: dict[str, float] | None = None, **known: Any) -> Assessment:
    """A job in micro-batches of 5 s that has committed one of 90 s, and begun another 24 s ago."""
    usual = {"name": "q", "state": "running", "trigger": Trigger(interval_s=5.0), "rate_limit_rows_per_s": None, "batch_id": 3, "batches": 1}
    long = {"batch": BatchParts(total_s=90.0), "since_commit_s": 24.0, "lag_s": 115.0, "lag_rows": 5e6, "uptime_s": 3600.0}
    query = QueryReading(**{**usual, **long, **known})
    running = len(executors)
    seen = blank_reading(NOW_S, queries=(query,), executors=executors, executors_running=running, executors_requested=running)
    return assessed(plant="micro_batch", reading=seen, executors=running, memory=HpaMemory(row_s=row_s or {}))


def flowing(share: float, **known: Any) -> Assessment:
    usual = {"name": "q", "state": "running", "trigger": Trigger(kind="real_time", interval_s=10.0), "rate_limit_rows_per_s": None, "uptime_s": 3600.0}
    executors = tuple(executor(number, cpu_cores=share) for number in range(6))
    seen = blank_reading(NOW_S, queries=(QueryReading(**{**usual, **known}),), executors=executors, executors_running=6, executors_requested=6)
    return assessed(reading=seen, executors=6)


@pytest.mark.parametrize("uptime_s", [31.0, 23.0], ids=["came for its last wave", "came after it"])
def test_an_executor_without_a_part_in_the_last_batch_does_not_make_the_others_look_idle(uptime_s: float) -> None:
    three = tuple(executor(number, busyness=0.9987) for number in range(3))
    seen = batched((*three, executor(4, busyness=0.0, uptime_s=uptime_s)), busyness=0.749)
    decision = Hpa(ready_s=15.0).decide(seen)
    assert (decision.executors, decision.why.value) == (5, pytest.approx(0.9987))


def test_an_executor_that_joined_the_last_batch_counts_by_the_time_it_was_there() -> None:
    seen = batched((*tuple(executor(number, busyness=0.9) for number in range(3)), executor(4, busyness=0.3, uptime_s=54.0)), busyness=0.75)
    assert Hpa().decide(seen).why.value == pytest.approx(0.9)


def test_an_executor_that_was_there_and_did_nothing_is_idle() -> None:
    seen = batched((executor(1, busyness=0.9), executor(2, busyness=0.0)), busyness=0.45)
    assert HpaPaper().decide(seen).why.value == pytest.approx(0.45)


def test_a_batch_that_runs_for_longer_than_a_reading_looks_back_is_work() -> None:
    idle = tuple(executor(number, busyness=0.0) for number in range(4))
    stalled: dict[str, Any] = {"batch": None, "batches": 0, "busyness": 0.0, "since_commit_s": 200.0, "lag_s": 290.0, "excess_lag_rows": 9e6}
    unknown = Hpa().decide(batched(idle, **stalled))
    assert (unknown.executors, unknown.why.code) == (4, "not_ready"), "what a row costs was never seen"
    for policy, executors in ((Hpa(), 5), (HpaPaper(), 5), (Reactive(), 8)):
        decision = policy.decide(batched(idle, {"q": 0.0002}, **stalled))
        assert (decision.executors, decision.why.code, decision.why.value) == (executors, "utilization_above_target", 1.0)


def test_what_a_row_costs_is_kept_in_mind_whatever_is_decided() -> None:
    measured = batched((executor(1, busyness=0.8),), busyness=0.8, throughput_rows_per_s=4000.0)
    cost = HpaMemory(row_s={"q": pytest.approx(0.0002)})
    young = replace(measured, reading=replace(measured.reading, executors=(executor(1, busyness=0.8, uptime_s=1.0),)))
    for seen, code in ((measured, "within_tolerance"), (replace(measured, since_rescale_s=1.0), "too_soon"), (young, "not_ready")):
        decision = HpaPaper().decide(seen)
        assert (decision.why.code, decision.memory) == (code, cost)


@pytest.mark.parametrize("state", ["restarting", "failed", "starting"])
def test_an_outage_is_not_idleness(state: str) -> None:
    for policy in ALL:
        decision = policy.decide(flowing(0.05, state=state))
        assert (decision.executors, decision.why.code) == (6, "not_ready")
        assert policy.decide(flowing(0.05)).executors == 1


@pytest.mark.parametrize(("uptime_s", "knows"), [(0.0, False), (14.0, False), (15.0, True)])
def test_cpu_averaged_over_a_stop_is_ignored(uptime_s: float, knows: bool) -> None:
    """The last decision, and the reading it was made from, are 15 s old."""
    seen = replace(flowing(0.05, uptime_s=uptime_s), earlier=(Recommended(at_s=NOW_S - 15.0, configuration=scaled_to(6)),))
    assert (HpaPaper().decide(replace(seen, reading=replace(seen.reading, since_disturbance_s=uptime_s))).why.code != "not_ready") == knows


def test_a_window_of_batches_that_overlaps_a_stop_is_ignored() -> None:
    one = (executor(1, busyness=0.1),)
    calm: dict[str, Any] = {"batch": BatchParts(total_s=3.0), "batches": 2, "busyness": 0.1, "since_commit_s": 0.0, "lag_rows": 0.0}
    assert HpaPaper().decide(batched(one, uptime_s=8.0, **calm)).why.code == "not_ready"
    assert HpaPaper().decide(batched(one, uptime_s=18.0, **calm)).why.code != "not_ready"


def test_a_query_that_was_given_up_does_not_blind_a_policy_for_ever() -> None:
    for state in ("given up", "stopped", "ended"):
        assert HpaPaper().decide(flowing(0.05, state=state)).executors == 1


def test_it_holds_executors_at_a_third() -> None:
    assert Reactive().decide(busy([0.35] * 4)).executors == 4
    assert Reactive().decide(busy([0.7] * 4)).executors == 8
    assert Reactive().decide(busy([0.7] * 4)).policy == "reactive"


@given(share=st.floats(0.0, 1.0))
def test_it_decides_as_hpa_does_at_the_same_target(share: float) -> None:
    mine, its = Reactive().decide(busy([share] * 4)), Hpa(target=0.35).decide(busy([share] * 4))
    assert (mine.executors, mine.why, mine.guards, mine.memory) == (its.executors, its.why, (), its.memory)


@given(share=st.floats(0.0, 1.0))
def test_a_recovery_does_not_hold_it_back(share: float) -> None:
    recovering = replace(busy([share] * 4, lag_rows=1e6), uptime_s=1.0, since_rescale_s=1.0)
    assert Reactive().decide(recovering) == Reactive().decide(busy([share] * 4))


def test_where_a_change_does_not_stop_the_job_it_says_so() -> None:
    decision = Reactive().decide(replace(busy([0.7] * 4), plant="micro_batch", stops=frozenset()))
    assert (decision.executors, [guard.code for guard in decision.guards]) == (8, ["plant_rescales_live"])
