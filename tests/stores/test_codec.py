import json
import math
import struct
from dataclasses import fields, replace
from typing import Any

import pytest
import taught
from changes import scaled_to, scaling
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.command import Approve, Command, Pause, Reject, Release, Resume, SetKnob
from penstock.core.domain.configuration import Configuration, QueryConfiguration
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.events.autopilot_events import Decided
from penstock.core.domain.events.event import Event, event_classes
from penstock.core.domain.events.run_events import NothingToDo, TurnFailed
from penstock.core.domain.hours import Hours
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.prediction import Prediction
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.knowledge import Hold, Knowledge, Pending
from penstock.core.knowledge.learnt import Learnt
from penstock.core.knowledge.terms import Terms
from penstock.core.models.recovery.downtime import Downtimes, DowntimeSeen
from penstock.core.redaction import Redactor
from penstock.stores.codec import DecodeError, closed_words, decode, decode_command, decode_event, encode, encode_knowledge

st.register_type_strategy(float, st.floats(allow_nan=False))
KNOWLEDGE = Knowledge(
    declared=Configuration(executors=1, queries={"q": QueryConfiguration(trigger=Trigger(interval_s=5))}),
    desired=Configuration(executors=3, queries={"q": QueryConfiguration(trigger=Trigger(interval_s=5), partitions=8)}),
    holds=(Hold(knob="executors", value="3", who="ada", until_s=12.5),),
    next_number=4,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(reading=st.from_type(Reading))
def test_a_reading_comes_back_as_it_was(reading: Reading) -> None:
    assert decode(Reading, encode(reading)) == reading


@settings(max_examples=150)
@given(event=st.sampled_from(sorted(event_classes())).flatmap(lambda name: st.from_type(event_classes()[name])))
def test_every_event_comes_back_as_it_was(event: Event) -> None:
    assert decode_event(type(event).__name__, encode(event)) == event


@given(instruction=st.from_type(Instruction))
def test_an_instruction_comes_back_as_it_was(instruction: Instruction) -> None:
    assert decode(Instruction, encode(instruction)) == instruction


@given(outcome=st.from_type(Outcome))
def test_an_outcome_comes_back_as_it_was(outcome: Outcome) -> None:
    assert decode(Outcome, encode(outcome)) == outcome


def test_knowledge_comes_back_without_what_was_under_way() -> None:
    busy = replace(KNOWLEDGE, pending=(Pending(instruction=scaling(3, 1, 3), since_s=1.0),))
    assert decode(Knowledge, encode_knowledge(busy)) == KNOWLEDGE


@given(command=st.sampled_from([SetKnob, Approve, Reject, Pause, Resume, Release]).flatmap(st.from_type))
def test_every_command_comes_back_as_it_was(command: Command) -> None:
    assert decode_command(type(command).__name__, encode(command)) == command


@given(value=st.floats(width=64))
def test_every_float_comes_back_to_the_last_bit(value: float) -> None:
    back = decode(Outcome, encode(Outcome(number=1, done=True, took_s=value))).took_s
    assert struct.pack("d", back) == struct.pack("d", value) or (math.isnan(back) and math.isnan(value))


def test_a_number_is_written_as_it_is_declared_so_that_what_was_read_back_is_written_in_the_same_bytes() -> None:
    autopilot = Autopilot(parameters={"grace_s": 120}, downtime_s=30, max_step=2, hours=(Hours(days=(1,), from_s=0, until_s=60),))
    text = encode(autopilot)
    assert '"parameters":{"grace_s":120.0}' in text and '"downtime_s":30.0' in text and '"max_step":2,' in text
    assert '"hours":[{"days":[1],"from_s":0.0,"until_s":60.0}]' in text
    assert encode(decode(Autopilot, text)) == text


def test_what_was_learnt_comes_back_to_the_last_bit() -> None:
    learnt, unlearnt = taught.learnt(), Learnt()
    text = encode(learnt)
    back = decode(Learnt, text)
    assert back == learnt and encode(back) == text
    assert all(getattr(learnt, each.name) != getattr(unlearnt, each.name) for each in fields(Learnt)), "there is something in every model"


def test_a_secret_that_is_a_word_of_ours_makes_no_history_unreadable() -> None:
    """Whatever the vocabulary is made of: what was written can be read, and means what it meant."""
    redactor = Redactor(closed_words())
    decision = Decision(
        policy="daedalus", configuration=scaled_to(2), current=scaled_to(3), why=Comparison(code="smallest_that_holds"), guards=(Comparison(code="limits"),)
    )
    prediction = Prediction(kind="capacity", made_s=1.0, value=1.0, low=0.0, high=2.0, configuration=scaled_to(2))
    event = Decided(at_s=1.0, id=1, mode="active", policy="daedalus", decision=decision, effect="asked", others=(prediction,))
    assert decode_event("Decided", encode(event, redactor)) == event
    terms = Terms(autopilot=Autopilot(mode="ask", policy="hpa", parameters={"target": 0.5}, only="up", guards="off"))
    assert decode(Terms, encode(terms, redactor)) == terms
    learnt = replace(Learnt(), downtimes=Downtimes().learn([DowntimeSeen(kind="rescale_up", downtime_s=20.0)]), live=("rescale_up",))
    assert decode(Learnt, encode(learnt, redactor)) == learnt


def test_every_word_that_is_chosen_from_a_list_is_our_own() -> None:
    assert {"observe", "shadow", "ask", "active", "proposed", "executor_loss", "recovery", "utilization_law", "broken_promises"} <= closed_words()
    assert {"none_passes", "quota", "spark_dra", "grace_s", "running", "rate-limit", "SetKnob"} <= closed_words()


def test_fields_keep_their_order_and_can_be_left_out() -> None:
    text = encode(Outcome(number=1, done=True, took_s=0.1))
    assert list(json.loads(text)) == [field.name for field in fields(Outcome)]
    assert text == '{"number":1,"done":true,"took_s":0.1,"down_s":null,"delayed_rows":null,"reason":"","failed":[]}'
    assert encode(Outcome(number=1, done=True, took_s=0.5), without=("down_s", "delayed_rows", "reason", "failed")) == '{"number":1,"done":true,"took_s":0.5}'


@pytest.mark.parametrize("value", [math.inf, -math.inf, 0.1 + 0.2, 5e-324, 1.7e308])
def test_a_float_stays_exact_even_where_json_has_no_word_for_it(value: float) -> None:
    assert decode(Outcome, encode(Outcome(number=1, done=True, took_s=value))).took_s == value


def test_a_broken_character_does_not_break_the_history() -> None:
    event = TurnFailed(at_s=1.0, error="file \udcff.csv\0")
    assert decode_event("TurnFailed", encode(event)) == TurnFailed(at_s=1.0, error="file ?.csv\0")


def test_secrets_are_masked_in_texts_and_keys_but_numbers_and_own_words_stay() -> None:
    stored = decode(Knowledge, encode_knowledge(KNOWLEDGE, Redactor(frozenset({"q", "5", "processing_time"}))))
    assert stored.desired.queries == {"***": QueryConfiguration(trigger=Trigger(interval_s=5), partitions=8)}


@pytest.mark.parametrize("text", ["{", "[]", '{"at_s": "soon"}', "{}"])
def test_what_cannot_be_read_is_said_in_one_line(text: str) -> None:
    with pytest.raises(DecodeError, match=r"^it holds a NothingToDo that this Penstock cannot read, .+$"):
        decode(NothingToDo, text)


@pytest.mark.parametrize("decoder", [decode_event, decode_command])
def test_a_kind_of_a_later_penstock_is_named(decoder: Any) -> None:
    with pytest.raises(DecodeError, match="it holds a FromTheFuture, which this Penstock does not know"):
        decoder("FromTheFuture", "{}")
