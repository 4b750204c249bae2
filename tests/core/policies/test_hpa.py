"""The Horizontal Pod Autoscaler on executors, and the variant of the Daedalus paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Any

import pytest
from assessed import NOW_S, assessed
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.domain.decision import Decision
from penstock.core.domain.job import Limits
from penstock.core.domain.reading import ExecutorReading
from penstock.core.knowledge.assessment import Assessment
from penstock.core.policies.hpa import Hpa, HpaPaper
from penstock.runtime.fakes import blank_reading

SHARES = st.floats(0.0, 1.0)
SIZES = st.integers(1, 12)
UPWARDS, DOWNWARDS = "utilization_above_target", "utilization_below_target"
STAYS = {"cpu_unknown", "within_tolerance", "stabilised", "limits", "executors_starting", "smallest_that_holds", "not_ready", "too_soon"}


def executor(number: int, share: float | None, uptime_s: float = 3600.0) -> ExecutorReading:
    return ExecutorReading(executor_id=str(number), host="a", slots=1, uptime_s=uptime_s, cpu_cores=share)


def busy(shares: Sequence[float | None], *, starting: int = 0, at_s: float = NOW_S, **known: Any) -> Assessment:
    """Executors that are so busy, some more that have just come, and as many wanted as there are unless told."""
    listed = (*(executor(number, share) for number, share in enumerate(shares)), *(executor(100 + number, 1.0, 5.0) for number in range(starting)))
    reading = blank_reading(at_s, executors=listed, executors_running=len(listed), executors_requested=known.pop("requested", len(listed)))
    return assessed(**{"at_s": at_s, "reading": reading, "current": len(listed), **known})


def told(decision: Decision) -> tuple[Any, ...]:
    return decision.executors, decision.why.code, decision.why.value, decision.why.limit


def settled(policy: Hpa, seen: Assessment) -> Decision:
    """What it decides when it has seen the same for longer than its window."""
    decision = policy.decide(seen)
    later = replace(seen, at_s=seen.at_s + policy.stable_down_s, memo=decision.memo)
    return policy.decide(later)


def test_twice_the_target_doubles_the_size() -> None:
    decision = Hpa(target=0.4).decide(busy([0.8] * 4))
    assert told(decision) == (8, UPWARDS, pytest.approx(0.8), 0.4)


def test_half_the_target_halves_the_size() -> None:
    decision = settled(Hpa(), busy([0.4] * 4))
    assert told(decision)[:3] == (2, DOWNWARDS, pytest.approx(0.4))


@pytest.mark.parametrize(("share", "size", "code"), [(0.87, 4, "within_tolerance"), (0.89, 5, UPWARDS), (0.73, 4, "within_tolerance")])
def test_a_tenth_off_the_target_is_near_enough(share: float, size: int, code: str) -> None:
    decision = settled(Hpa(), busy([share] * 4))
    assert (decision.executors, decision.why.code) == (size, code)


def test_one_less_would_be_too_busy() -> None:
    decision = settled(Hpa(), busy([0.65] * 4))
    assert (decision.executors, decision.why.code) == (4, "smallest_that_holds")


def test_fewer_are_taken_only_after_five_minutes() -> None:
    seen, sizes = busy([0.1] * 4), []
    for number in range(21):
        decision = Hpa().decide(replace(seen, at_s=NOW_S + 15.0 * number))
        sizes.append(decision.executors)
        seen = replace(seen, memo=decision.memo)
    assert sizes == [4] * 20 + [1]


def test_a_busy_moment_within_the_window_puts_it_off() -> None:
    memo: Any = {}
    quiet, sizes = busy([0.1] * 4), dict[int, int]()
    for number in range(40):
        at_s = NOW_S + 15.0 * number
        decision = Hpa().decide(replace(busy([0.8] * 4) if number == 10 else quiet, at_s=at_s, memo=memo))
        sizes[number], memo = decision.executors, decision.memo
    assert [number for number in sizes if sizes[number] < 4] == list(range(30, 40))


def test_what_is_kept_in_mind_is_bounded() -> None:
    memo: Any = {}
    for number in range(200):
        memo = Hpa().decide(busy([0.1] * 4, at_s=NOW_S + 15.0 * number, memo=memo)).memo
    assert len(memo) == 20


@pytest.mark.parametrize(("executors", "size"), [(1, 5), (3, 7), (6, 12)])
def test_four_more_at_once_or_as_many_as_there_are(executors: int, size: int) -> None:
    seen = busy([1.0] * executors, limits=Limits(min_executors=1, max_executors=100))
    assert Hpa(target=0.05).decide(seen).executors == size


def test_a_share_of_those_that_are_there_is_rounded_up() -> None:
    seen = busy([1.0] * 9, limits=Limits(min_executors=1, max_executors=100))
    assert Hpa(target=0.05, most_grown=0.5).decide(seen).executors == 14, "9 x 1.5 = 13.5 (kubernetes: calculateScaleUpLimitWithScalingRules)"


def test_executors_that_start_count_as_idle_before_more_are_added() -> None:
    assert Hpa(target=0.5).decide(busy([0.9, 0.9])).executors == 4
    waiting = Hpa(target=0.5).decide(busy([0.9, 0.9], starting=2))
    assert told(waiting) == (4, "executors_starting", pytest.approx(0.9), pytest.approx(0.45))
    asked_for = Hpa(target=0.5).decide(busy([0.9, 0.9], requested=4, current=4))
    assert asked_for.executors == 4


def test_executors_that_tell_nothing_count_as_busy_before_some_are_taken() -> None:
    assert settled(Hpa(target=0.5), busy([0.2, 0.2])).executors == 1
    assert settled(Hpa(target=0.5), busy([0.2, 0.2, None, None])).executors == 4


def test_micro_batches_are_judged_by_task_time_and_not_by_cpu() -> None:
    both = tuple(replace(executor(number, 0.1), busyness=0.8) for number in range(4))
    seen = busy([0.1] * 4, plant="micro_batch")
    assert Hpa(target=0.4).decide(replace(seen, reading=replace(seen.reading, executors=both))).executors == 8


@pytest.mark.parametrize("current", [2, 3, 6, 12])
def test_in_shadow_the_work_of_those_that_run_is_spread_over_those_that_would(current: int) -> None:
    assert settled(Hpa(most_added=100), busy([0.8] * 4, current=current)).executors == 4


def test_at_its_limit_it_says_so() -> None:
    decision = Hpa(target=0.4).decide(busy([0.8] * 12))
    assert told(decision) == (12, "limits", 24, 12)


@pytest.mark.parametrize(("seen", "code"), [(busy([]), "not_ready"), (busy([None, None]), "cpu_unknown"), (busy([], starting=3, current=4), "not_ready")])
def test_nothing_known_keeps_the_size_and_an_unknown_cpu_is_named(seen: Assessment, code: str) -> None:
    assert (Hpa().decide(seen).executors, Hpa().decide(seen).why.code) == (seen.current, code)


@given(shares=st.lists(SHARES, min_size=1, max_size=12), more=SHARES, starting=st.integers(0, 3), current=SIZES, wanted=st.lists(SIZES, max_size=5))
def test_more_utilisation_never_means_fewer_executors(shares: list[float], more: float, starting: int, current: int, wanted: list[int]) -> None:
    memo = {f"hpa wanted at {NOW_S - 15.0 * (1 + number)}": float(size) for number, size in enumerate(wanted)}
    less = Hpa().decide(busy(shares, starting=starting, current=current, memo=memo))
    busier = Hpa().decide(busy([max(share, more) for share in shares], starting=starting, current=current, memo=memo))
    assert less.executors <= busier.executors


@given(
    shares=st.lists(st.none() | SHARES, max_size=12),
    starting=st.integers(0, 3),
    current=SIZES,
    target=st.floats(0.05, 1.0),
    since_s=st.none() | st.floats(0.0, 900.0),
)
def test_the_size_is_allowed_and_the_reason_agrees_with_the_direction(
    shares: list[float | None], starting: int, current: int, target: float, since_s: float | None
) -> None:
    for policy in (Hpa(target=target), HpaPaper(target=target)):
        decision = settled(policy, busy(shares, starting=starting, current=current, since_rescale_s=since_s))
        assert 1 <= decision.executors <= 12
        assert decision.why.code in {"up": {UPWARDS}, "down": {DOWNWARDS}, "keep": STAYS}[decision.direction]
        assert "?" not in decision.why.words() or decision.why.code == "not_ready"


@settings(max_examples=40)
@given(work=st.floats(0.0, 12.0), size=SIZES)
def test_under_a_constant_load_it_comes_to_rest_at_the_target(work: float, size: int) -> None:
    memo: Any = {}
    for number in range(80):
        decision = Hpa().decide(busy([min(1.0, work / size)] * size, at_s=NOW_S + 15.0 * number, memo=memo))
        size, memo = decision.executors, decision.memo
    assert decision.direction == "keep"
    wanted = min(12, max(1, ceil(round(work / 0.8, 9))))
    assert size == wanted or abs(work / size / 0.8 - 1.0) <= 0.1 + 1e-9


def test_the_paper_waits_five_minutes_between_two_actions_of_either_kind() -> None:
    for share in (0.1, 1.0):
        waiting = HpaPaper().decide(busy([share] * 4, since_rescale_s=299.0))
        assert told(waiting) == (4, "too_soon", 299.0, 300.0)


def test_the_paper_ignores_executors_that_have_not_started() -> None:
    seen = busy([0.9, 0.9], starting=2)
    assert (Hpa(target=0.5).decide(seen).executors, Hpa(target=0.5).decide(seen).why.code) == (4, "executors_starting")
    assert (HpaPaper(target=0.4).decide(seen).executors, HpaPaper(target=0.4).decide(seen).why.code) == (5, UPWARDS)
    assert HpaPaper(target=0.5).decide(seen).why.code == "smallest_that_holds", "the two that have started need four, and four are there"


def test_the_paper_has_no_window_for_scaling_down() -> None:
    assert HpaPaper().decide(busy([0.4] * 4, since_rescale_s=300.0)).executors == 2
    assert HpaPaper().decide(busy([0.4] * 4)).executors == 2
    assert (HpaPaper().decide(busy([0.4] * 4)).policy, HpaPaper().decide(busy([0.4] * 4)).memo) == ("hpa_paper", {})
