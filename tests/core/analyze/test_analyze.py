"""What is needed is learnt, and nothing else; the same readings teach the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from steady_job import LEARNING, TERMS, Analysed, SteadyJob, daily

from penstock.core.analyze.analyze import analyze
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Desired, Knowledge
from penstock.core.knowledge.learnt import Learnt
from penstock.core.knowledge.policy import Need
from penstock.stores.codec import decode, encode, encode_knowledge

ALL: frozenset[Need] = frozenset({"load", "capacity", "regression", "forecast", "latency", "profile", "stages"})


def test_where_nothing_is_needed_nothing_changes() -> None:
    knowledge = Knowledge(declared=Desired(executors=2), desired=Desired(executors=2))
    after, events, asked = analyze(knowledge, Inputs(at_s=15.0, reading=SteadyJob().reading()), TERMS, frozenset())
    assert after is knowledge and not events and asked is None


@pytest.mark.parametrize("needs", [{"load"}, {"capacity"}, {"forecast"}, {"stages"}])
def test_only_what_is_needed_is_learnt(needs: set[Need]) -> None:
    analysed = Analysed(SteadyJob(load=daily), needs=frozenset(needs))
    analysed.turns(40)
    learnt, begun = analysed.knowledge.learnt, Learnt()
    assert (learnt.capacity.by_utilization.stay is not None) == ("capacity" in needs)
    assert (learnt.load.memory != begun.load.memory) == ("forecast" in needs)
    assert (analysed.knowledge.steering.forecast is not None) == ("forecast" in needs)
    assert bool(learnt.stages) == ("stages" in needs)
    assert learnt.health.keeping_up.readings > 0


def test_the_load_is_the_mean_of_what_arrived() -> None:
    analysed = Analysed(SteadyJob(load=lambda at_s: 1000.0 if at_s < 15 else 2000.0))
    analysed.turns(2)
    assert analysed.knowledge.steering.load.mean_rows_per_s == 1500.0


def test_a_turn_without_a_reading_keeps_what_was_learnt() -> None:
    analysed = Analysed(SteadyJob(load=daily))
    analysed.turns(10)
    before = analysed.knowledge
    after, events, _ = analyze(before, Inputs(at_s=analysed.job.at_s + 15.0), TERMS, LEARNING)
    assert after.learnt == before.learnt and not events


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
    assert back.learnt == analysed.knowledge.learnt and back.steering == analysed.knowledge.steering
    assert encode_knowledge(back) == text
