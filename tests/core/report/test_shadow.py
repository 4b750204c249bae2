from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from planned import wants

from penstock.core.domain.events.autopilot_events import AutopilotChanged, Decided
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.run_events import NothingToDo, RunStarted
from penstock.core.report.shadow import last_shadow

MODES = st.sampled_from(["observe", "shadow", "ask", "active"])


def decided(at_s: float, mode: Any = "shadow", policy: str = "thumb") -> Decided:
    return Decided(id=1, at_s=at_s, mode=mode, policy=policy, decision=wants(3), effect="kept")


def changed(at_s: float, mode: str) -> AutopilotChanged:
    return AutopilotChanged(at_s=at_s, changes=(("policy", "auto", "hpa"), ("mode", "?", mode)))


def started(at_s: float, mode: str) -> RunStarted:
    return RunStarted(at_s=at_s, job="j", master="m", mode=mode, spark_version="4.3", resumed=True)


def stretch(*events: Event) -> tuple[float, float, int] | None:
    found = last_shadow(events)
    return None if found is None else (found.from_s, found.until_s, len(found.decided))


def test_there_is_none_where_nothing_was_decided_in_shadow() -> None:
    assert stretch() is None
    assert stretch(started(0.0, "shadow"), NothingToDo(at_s=1.0), decided(2.0, "active")) is None


def test_it_ends_with_the_first_sign_of_another_mode() -> None:
    assert stretch(decided(1.0), decided(2.0), decided(3.0, "ask"), decided(4.0, "active")) == (1.0, 3.0, 2)
    assert stretch(decided(1.0), changed(5.0, "observe"), started(9.0, "observe")) == (1.0, 5.0, 1)
    assert stretch(decided(1.0), started(7.0, "observe")) == (1.0, 7.0, 1)


def test_a_restart_and_a_change_of_something_else_do_not_end_it() -> None:
    step = AutopilotChanged(at_s=3.0, changes=(("max_step", "none", "1"),))
    assert stretch(decided(1.0), started(2.0, "shadow"), step, decided(4.0)) == (1.0, float("inf"), 2)


def test_another_policy_begins_a_shadow_of_its_own() -> None:
    changed_policy = AutopilotChanged(at_s=3.0, changes=(("policy", "thumb", "hpa"),))
    assert stretch(decided(1.0), decided(2.0), changed_policy) == (1.0, 3.0, 2)
    assert stretch(decided(1.0), decided(2.0), changed_policy, decided(4.0, policy="hpa")) == (4.0, float("inf"), 1)
    assert stretch(decided(1.0), started(2.0, "shadow"), decided(4.0, policy="hpa")) == (4.0, float("inf"), 1), "a file that changed between two runs"


def test_auto_that_asks_another_policy_is_still_auto() -> None:
    names = ("auto", "auto:daedalus", "auto:phoebe", "auto:daedalus")
    again = AutopilotChanged(at_s=9.0, changes=(("policy", "hpa", "auto"),))
    assert stretch(*(decided(float(at_s), policy=name) for at_s, name in enumerate(names)), again) == (0.0, float("inf"), 4)


def test_the_last_of_several_counts() -> None:
    assert stretch(decided(1.0), decided(2.0, "active"), decided(3.0), decided(4.0), changed(6.0, "active")) == (3.0, 6.0, 2)


@given(st.lists(MODES, max_size=12))
def test_it_holds_only_decisions_in_shadow_that_follow_each_other(modes: list[str]) -> None:
    found = last_shadow([decided(float(place), mode) for place, mode in enumerate(modes)])
    assert (found is None) is ("shadow" not in modes)
    if found is not None:
        first, last = int(found.decided[0].at_s), int(found.decided[-1].at_s)
        assert modes[first : last + 1] == ["shadow"] * len(found.decided)
        assert "shadow" not in modes[last + 1 :] and (first == 0 or modes[first - 1] != "shadow")
        assert found.until_s == (last + 1 if last + 1 < len(modes) else float("inf"))
