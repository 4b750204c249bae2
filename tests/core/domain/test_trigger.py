import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.trigger import Kind, Trigger
from penstock.core.errors import UserMistake

UNDERSTOOD: dict[str, Trigger] = {
    **dict.fromkeys(("", "asap", "0s"), Trigger()), "5s": Trigger(interval_s=5.0), " 1m30s ": Trigger(interval_s=90.0),
    **dict.fromkeys(("available-now", "available_now"), Trigger(kind="available_now")), "realtime:15s": Trigger(kind="real_time", interval_s=15.0),
}  # fmt: skip


@pytest.mark.parametrize(("text", "trigger"), UNDERSTOOD.items())
def test_a_trigger_is_understood(text: str, trigger: Trigger) -> None:
    assert Trigger.parse(text) == trigger


@pytest.mark.parametrize("text", ["soon", "-5s", "realtime:", "realtime", "realtime:soon", "5 apples"])
def test_what_is_no_trigger_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(UserMistake, match=r'found .*; a trigger is a time \("5s"\), "asap", "available-now" or "realtime:15s"$'):
        Trigger.parse(text)


@given(st.sampled_from(["processing_time", "real_time"]), st.integers(0, 10**6))
def test_words_for_a_trigger_of_whole_seconds_read_back_as_it(kind: Kind, interval_s: int) -> None:
    trigger = Trigger(kind=kind, interval_s=float(interval_s))
    assert Trigger.parse(str(trigger)) == trigger
