import math
import time
from dataclasses import replace

import pytest
from changes import scaled_to
from steady_job import LEARNING, TERMS, Analysed, SteadyJob, daily

from penstock.core.analyze.analyze import analyze
from penstock.core.domain.job_spec import Limits
from penstock.core.knowledge.fitting import FitDone, fitted
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.learnt import Learnt
from penstock.core.knowledge.policy import Need
from penstock.selftest.speed import LargeJob
from penstock.stores.codec import decode, encode, encode_knowledge

ALL: frozenset[Need] = frozenset({"load", "capacity", "regression", "forecast", "latency", "profile", "stages"})


def test_where_nothing_is_needed_nothing_changes() -> None:
    knowledge = Knowledge(declared=scaled_to(2), desired=scaled_to(2))
    done = analyze(knowledge, Inputs(at_s=15.0, reading=SteadyJob().reading()), TERMS, frozenset(), decides=False)
    assert done.knowledge is knowledge and (done.events, done.seen, done.fit) == ((), None, None)


@pytest.mark.parametrize("needs", [{"load"}, {"capacity"}, {"forecast"}, {"stages"}])
def test_only_what_is_needed_is_learnt(needs: set[Need]) -> None:
    analysed = Analysed(SteadyJob(load=daily), needs=frozenset(needs))
    analysed.turns(40)
    learnt, begun = analysed.knowledge.learnt, Learnt()
    assert (learnt.capacity.by_utilization.stay is not None) == ("capacity" in needs)
    assert (learnt.load.memory != begun.load.memory) == ("forecast" in needs)
    assert (analysed.knowledge.outlook.forecast is not None) == ("forecast" in needs)
    assert bool(learnt.stages) == ("stages" in needs)
    assert learnt.health.keeping_up.readings > 0


def test_the_load_is_the_mean_of_what_arrived() -> None:
    analysed = Analysed(SteadyJob(load=lambda at_s: 1000.0 if at_s < 15 else 2000.0))
    analysed.turns(2)
    assert analysed.knowledge.schedule.loads["q"].mean_rows_per_s == 1500.0 == analysed.seen().load_rows_per_s


def test_a_turn_without_a_reading_keeps_what_was_learnt() -> None:
    analysed = Analysed(SteadyJob(load=daily))
    analysed.turns(10)
    before = analysed.knowledge
    done = analyze(before, Inputs(at_s=analysed.job.at_s + 15.0), TERMS, LEARNING, decides=False)
    assert done.knowledge.learnt == before.learnt and not done.events


def test_other_days_begin_other_models() -> None:
    analysed = Analysed(SteadyJob(load=daily))
    analysed.turns(20)
    analysed.terms = replace(TERMS, autopilot=replace(TERMS.autopilot, time_scale=0.5))
    analysed.turn()
    learnt = analysed.knowledge.learnt
    assert learnt.load.horizon_s == 450.0 and sum(learnt.load.series.counts) == 1 and learnt.capacity.by_utilization.warm_up_s == 30.0


def test_the_same_readings_teach_the_same_to_the_last_byte() -> None:
    stories = []
    for _ in range(2):
        analysed = Analysed(SteadyJob(load=daily), needs=ALL)
        analysed.turns(30)
        analysed.job.fail()
        analysed.turns(30)
        stories.append((encode_knowledge(analysed.knowledge), [encode(event) for event in analysed.events]))
    assert stories[0] == stories[1]


def test_knowledge_goes_through_json_and_back() -> None:
    analysed = Analysed(SteadyJob(load=daily), needs=ALL)
    analysed.turns(60)
    analysed.job.fail()
    analysed.turns(4)
    text = encode_knowledge(analysed.knowledge)
    back = decode(Knowledge, text)
    assert back == replace(analysed.knowledge, last=back.last, pending=())
    assert encode_knowledge(back) == text


DAEDALUS: frozenset[Need] = frozenset({"load", "capacity", "regression", "forecast"})


@pytest.mark.long
def test_capacity_is_known_at_nearly_every_assessment_of_six_hours() -> None:
    analysed = Analysed(SteadyJob(load=lambda at_s: daily(at_s) + 100.0 * math.sin(at_s)), replace(TERMS, limits=Limits(max_executors=12)), DAEDALUS)
    spent = {"turns": 0.0, "assessments": 0.0, "fits": 0.0}
    number, known = 0, 0
    fits: tuple[FitDone, ...] = ()
    for turn in range(1440):
        reading = analysed.job.reading()
        begin = time.process_time()
        asked = analysed.turn(reading=reading, fits=fits)
        spent["turns"] += time.process_time() - begin
        begin = time.process_time()
        if turn % 4 == 0:
            known += bool(analysed.seen().capacities)
        spent["assessments"] += time.process_time() - begin
        begin = time.process_time()
        fits = () if asked is None else (fitted(asked),)
        number += asked is not None
        spent["fits"] += time.process_time() - begin
    print(f"\nsix hours: {', '.join(f'{name} {seconds:.1f} s' for name, seconds in spent.items())} ({number} fits)")
    assert known > 350


@pytest.mark.slow
@pytest.mark.parametrize("needs", [DAEDALUS, DAEDALUS - {"regression"}])
def test_the_capacity_of_1000_executors_is_learnt_within_five_percent(needs: frozenset[Need]) -> None:
    terms = replace(TERMS, limits=Limits(min_executors=990, max_executors=1010))
    analysed = Analysed(SteadyJob(executors=1000, each_rows_per_s=10.0, load=lambda at_s: 2.0 * daily(at_s)), terms, needs)
    analysed.turns(40)
    took = []
    for _ in range(8):
        reading = analysed.job.reading()
        begin = time.process_time()
        analysed.turn(reading=reading)
        learnt = time.process_time()
        seen = analysed.seen()
        took.append((learnt - begin, time.process_time() - learnt))
    analyse, assess = (sorted(1000 * each for each in column)[len(column) // 2] for column in zip(*took, strict=True))
    print(f"\n1000 executors, {'regression' if 'regression' in needs else 'law'}: analyse {analyse:.1f} ms, assess {assess:.1f} ms (medians)")
    assert seen.capacity(1000) == pytest.approx(10_000.0, rel=0.05)


@pytest.mark.slow
def test_a_turn_of_micro_batches_that_weighs_1000_executors_costs_no_more_than_its_share() -> None:
    large, small = LargeJob(1000), LargeJob(100)
    took = [(large.turn_ms(), small.turn_ms()) for _ in range(12)][7:]
    thousand, hundred = (sorted(each)[len(took) // 2] for each in zip(*took, strict=True))
    print(f"\na turn that weighs 1000 executors: {thousand:.0f} ms, with 100: {hundred:.0f} ms (medians)")
    last = large.knowledge.schedule.last
    assert last is not None and last.policy == "daedalus"
    assert thousand < 25 * hundred, "ten times the executors times ten times the candidates would be a hundred times as much"
