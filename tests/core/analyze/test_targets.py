from dataclasses import replace

import pytest
from changes import scaled_to
from steady_job import TERMS, Analysed, SteadyJob

from penstock.core.analyze.targets import targets, watch_targets
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.cadence import cadence_of
from penstock.core.domain.events.autopilot_events import TargetFeasible, TargetInfeasible
from penstock.core.domain.events.event import Event
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Quantiles
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.estimate import Estimate


@pytest.fixture(scope="module")
def seen() -> Assessment:
    analysed = Analysed(SteadyJob())
    analysed.turns(40)
    return replace(analysed.seen(), forecast=None, load_rows_per_s=4000.0)


def promised(seen: Assessment, *, latency_s: float | None = None, recovery_s: float | None = None) -> dict[str, str]:
    return {target: why.code for target, why in targets(replace(seen, promises=Promises(latency_p95_s=latency_s, recovery_s=recovery_s))).items()}


def test_what_no_number_of_executors_can_keep_is_named_and_nothing_else(seen: Assessment) -> None:
    assert promised(seen, latency_s=5.0, recovery_s=300.0) == {} == promised(seen)
    assert promised(seen, recovery_s=30.0) == {"recovery time": "recovery_below_downtime"}
    assert promised(seen, recovery_s=40.0) == {"recovery time": "recovery_above_target"}
    assert promised(replace(seen, load_rows_per_s=10_000.0)) == {"throughput": "peak_above_capacity"}
    unsure = {8: Estimate(value=8000.0, low=5000.0, high=12_000.0)}
    assert promised(replace(seen, load_rows_per_s=10_000.0, capacities=unsure)) == {}, "the bound may be in favour"


def test_a_latency_below_the_trigger_or_of_the_most_executors_cannot_be_kept(seen: Assessment) -> None:
    queries = tuple(replace(query, trigger=Trigger(interval_s=5.0)) for query in seen.reading.queries)
    batched = replace(seen, plant="micro_batch", reading=replace(seen.reading, queries=queries))
    assert promised(batched, latency_s=4.0) == {"latency": "latency_below_trigger"}
    slow = replace(batched, latencies={8: Estimate(value=9.0, low=7.0, high=11.0)})
    assert promised(slow, latency_s=6.0) == {"latency": "latency"} and promised(slow, latency_s=8.0) == {}


def test_a_latency_that_is_kept_is_never_said_to_be_out_of_reach(seen: Assessment) -> None:
    slow = replace(seen, latencies={8: Estimate(value=9.0, low=7.0, high=11.0)})
    kept = replace(slow.reading, latency=Quantiles(p50_s=2.0, p95_s=5.0, p99_s=6.0), throughput_rows_per_s=4000.0, arrival_rows_per_s=4000.0)
    assert promised(replace(slow, reading=kept), latency_s=6.0) == {}
    assert promised(replace(slow, reading=kept, load_rows_per_s=4500.0), latency_s=6.0) == {"latency": "latency"}, "more is to come"
    late = replace(kept, latency=Quantiles(p50_s=2.0, p95_s=6.5, p99_s=7.0))
    unknown = replace(kept, arrival_rows_per_s=4100.0, excess_lag_rows=None)
    assert promised(replace(slow, reading=late), latency_s=6.0) == {"latency": "latency"} == promised(replace(slow, reading=unknown), latency_s=6.0)


def test_an_overhead_longer_than_the_longest_batch_allowed_is_named_on_strong_evidence(seen: Assessment) -> None:
    cadence = cadence_of(Trigger(interval_s=1.0), Promises(latency_p95_s=4.0))
    sure, unsure = (tuple(BatchLaw(overhead_s=each, row_s=0.001, partitions=1) for each in overheads) for overheads in ((2.2, 2.5, 3.0), (1.5, 2.5, 3.0)))
    late, open_ = (replace(seen, plant="micro_batch", cadence=cadence, batch_laws=LikelyLaws(best=laws[1], drawn=laws)) for laws in (sure, unsure))
    assert promised(late, latency_s=4.0) == {"latency": "latency_below_overhead"} and promised(open_, latency_s=4.0) == {}
    words = targets(replace(late, promises=Promises(latency_p95_s=4.0)))["latency"].words()
    assert words == "4 s are promised, a batch takes 2.5 s without any row"


def test_a_load_that_the_job_carries_is_never_said_to_be_out_of_reach(seen: Assessment) -> None:
    reading = replace(seen.reading, throughput_rows_per_s=10_000.0, arrival_rows_per_s=9900.0)
    carrying = replace(seen, reading=reading, load_rows_per_s=9900.0)
    assert promised(carrying) == {}
    behind = replace(seen, reading=replace(reading, arrival_rows_per_s=11_000.0, excess_lag_rows=9e5), load_rows_per_s=11_000.0, queries=())
    assert promised(behind) == {"throughput": "peak_above_capacity"}


def test_a_target_that_is_out_of_reach_by_turns_is_named_only_when_it_stays_so(seen: Assessment) -> None:
    knowledge = Knowledge(declared=scaled_to(4), desired=scaled_to(4))

    def looks(*loads: float) -> list[str]:
        nonlocal knowledge
        said: list[Event] = []
        for load in loads:
            knowledge, events = watch_targets(knowledge, replace(seen, load_rows_per_s=load), Autopilot())
            said += events
        return [type(event).__name__ for event in said]

    much, little = 10_000.0, 4000.0
    assert looks(*(much, much, little) * 5) == [] and knowledge.trust.infeasible == ()
    assert looks(much, much, much, much) == ["TargetInfeasible"] and knowledge.trust.infeasible == ("throughput",)
    assert looks(*(little, little, much) * 5) == [] and knowledge.trust.infeasible == ("throughput",)
    settled = knowledge
    assert looks(much) == [] and knowledge is settled, "what stays as it was said is nothing to remember"
    assert looks(little, little, little, little) == ["TargetFeasible"] and knowledge.trust.infeasible == ()


def test_what_follows_from_what_was_declared_is_named_at_the_first_look(seen: Assessment) -> None:
    knowledge = Knowledge(declared=scaled_to(4), desired=scaled_to(4))
    queries = tuple(replace(query, trigger=Trigger(interval_s=5.0)) for query in seen.reading.queries)
    batched = replace(seen, plant="micro_batch", reading=replace(seen.reading, queries=queries), promises=Promises(latency_p95_s=1.0))
    short = replace(seen, promises=Promises(recovery_s=10.0))

    def named(first: Assessment, autopilot: Autopilot) -> list[str]:
        return [event.why.code for event in watch_targets(knowledge, first, autopilot)[1] if isinstance(event, TargetInfeasible)]

    assert named(batched, Autopilot()) == ["latency_below_trigger"]
    assert named(short, Autopilot(downtime_s=30.0)) == ["recovery_below_downtime"]
    assert named(short, Autopilot()) == [], "a downtime that is only supposed is looked at again"


def test_a_target_no_executors_can_meet_is_named_once_until_they_can() -> None:
    terms = replace(TERMS, promises=Promises(recovery_s=20.0))
    analysed = Analysed(SteadyJob(), terms)
    analysed.turns(20)
    named = analysed.said(TargetInfeasible)
    assert [each.target for each in named] == ["recovery time"] and not analysed.said(TargetFeasible)
    analysed.terms = replace(terms, promises=Promises(recovery_s=600.0))
    analysed.turns(20)
    assert [each.target for each in analysed.said(TargetFeasible)] == ["recovery time"]
    assert analysed.said(TargetInfeasible) == named
