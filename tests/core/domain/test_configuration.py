from changes import changing, rescaled, scaled_to
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.configuration import Change, Configuration, QueryConfiguration, difference, moved_in, refuse_together
from penstock.core.domain.trigger import Trigger

SLOW, FAST = Trigger(interval_s=10.0), Trigger(interval_s=1.0)
NOW = scaled_to(2, a="10s", b="10s")
QUERIES = st.builds(QueryConfiguration, trigger=st.sampled_from([SLOW, FAST]), rate_limit_rows_per_s=st.none() | st.just(5.0), kept_share=st.floats(0.1, 1.0))
CONFIGURATIONS = st.builds(Configuration, executors=st.integers(1, 4), queries=st.dictionaries(st.sampled_from("abc"), QUERIES))


def test_the_knobs_that_differ_are_listed_in_the_order_of_the_table() -> None:
    after = NOW.having("rate-limit:a", 500.0).having("trigger:a", FAST).having("executors", 3)
    change = difference(NOW, after)
    assert [move.address for move in change.moves] == ["executors", "trigger:a", "rate-limit:a"]
    assert change.words() == "executors 2 -> 3, trigger:a 10s -> 1s, rate-limit:a none -> 500/s"
    assert (change.executors, change.queries) == ((2, 3), ("a",))
    assert change.of("a") == {"trigger": FAST, "rate_limit_rows_per_s": 500.0} and change.of("b") == {}


def test_a_kind_of_disturbance_counts_once_and_what_costs_nothing_not_at_all() -> None:
    assert difference(NOW, scaled_to(1, a="1s", b="1s")).costs == ("rescale_down", "reconfiguration")
    assert rescaled(1, 2).costs == ("rescale_up",)
    assert changing(1, "a", kept_share=(1.0, 0.6)).change.costs == ()


def test_a_query_that_only_one_of_two_names_does_not_differ() -> None:
    assert not difference(scaled_to(2, a="10s"), scaled_to(2, a="10s", b="1s"))
    assert not difference(scaled_to(2, a="10s", b="1s"), scaled_to(2))


def test_partitions_that_are_not_named_or_not_known_do_not_move() -> None:
    unnamed, four, eight = (QueryConfiguration(partitions=each) for each in (None, 4, 8))
    assert not moved_in("a", four, unnamed) and not moved_in("a", unnamed, four)
    assert moved_in("a", four, eight) == changing(1, "a", partitions=(4, 8)).change


@given(CONFIGURATIONS, CONFIGURATIONS)
def test_over_a_base_a_configuration_keeps_its_own_values_and_takes_the_queries_it_does_not_name(own: Configuration, base: Configuration) -> None:
    whole = own.over(base)
    assert whole.executors == own.executors
    assert dict(whole.queries) == {**base.queries, **own.queries}


@given(CONFIGURATIONS, CONFIGURATIONS)
def test_what_goes_beyond_a_base_gives_the_whole_again_over_it(own: Configuration, base: Configuration) -> None:
    whole = own.over(base)
    assert whole.beyond(base).over(base) == whole
    assert whole.beyond(whole).queries == {}


@given(CONFIGURATIONS, CONFIGURATIONS)
def test_a_configuration_holds_in_a_job_that_has_all_its_values(own: Configuration, running: Configuration) -> None:
    assert own.holds_in(own.over(running))
    assert own.holds_in(running) == (not difference(running, own.over(running)))
    assert Configuration(executors=running.executors).holds_in(running), "a query that is not named stays as it is"


def test_a_change_without_moves_is_false() -> None:
    assert not Change() and not difference(NOW, NOW) and rescaled(2, 3)


def test_a_value_is_found_and_set_by_its_address() -> None:
    assert (NOW.of("executors"), NOW.of("trigger:a"), NOW.of("partitions:a"), NOW.of("trigger:gone")) == (2, SLOW, None, None)
    assert NOW.having("kept-share:b", 0.5).queries["b"].kept_share == 0.5
    assert NOW.having("trigger:new", FAST).queries["new"] == QueryConfiguration(trigger=FAST)


def test_a_rate_limit_and_real_time_mode_exclude_each_other() -> None:
    flowing = QueryConfiguration(trigger=Trigger.parse("realtime:5s"))
    assert refuse_together(flowing) is None and refuse_together(QueryConfiguration(rate_limit_rows_per_s=9.0)) is None
    assert "no rate limit in Real-Time Mode" in (refuse_together(QueryConfiguration(trigger=flowing.trigger, rate_limit_rows_per_s=9.0)) or "")
