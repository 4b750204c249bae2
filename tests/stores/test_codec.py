from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.core.domain.event import Event, NothingToDo, TurnFailed, event_classes
from penstock.core.domain.instruction import ChangeQuery, Instruction, Outcome, ScaleExecutors
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge import Desired, Hold, Knowledge, Pending
from penstock.core.redaction import Redactor
from penstock.stores.codec import decode, decode_event, decode_instruction, encode, encode_knowledge
from penstock.stores.faults import DecodeError

st.register_type_strategy(float, st.floats(allow_nan=False))
KNOWLEDGE = Knowledge(
    declared=Desired(executors=1, triggers={"q": Trigger(interval_s=5)}),
    desired=Desired(executors=3, triggers={"q": Trigger(interval_s=5)}, rate_limits_rows_per_s={"q": None}, partitions={"q": 8}),
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


@given(instruction=st.one_of(st.from_type(ScaleExecutors), st.from_type(ChangeQuery)))
def test_every_instruction_comes_back_as_it_was(instruction: Instruction) -> None:
    assert decode_instruction(type(instruction).__name__, encode(instruction)) == instruction


@given(outcome=st.from_type(Outcome))
def test_an_outcome_comes_back_as_it_was(outcome: Outcome) -> None:
    assert decode(Outcome, encode(outcome)) == outcome


def test_knowledge_comes_back_without_what_was_under_way() -> None:
    busy = replace(KNOWLEDGE, pending=(Pending(instruction=ScaleExecutors(number=3, executors=3), since_s=1.0),))
    assert decode(Knowledge, encode_knowledge(busy)) == KNOWLEDGE


def test_keys_keep_the_order_of_declaration_and_no_space_is_wasted() -> None:
    text = encode(Outcome(number=1, done=True, took_s=0.1))
    assert list(json.loads(text)) == [field.name for field in fields(Outcome)]
    assert text == '{"number":1,"done":true,"took_s":0.1,"down_s":null,"delayed_rows":null,"reason":""}'


@pytest.mark.parametrize("value", [math.inf, -math.inf, 0.1 + 0.2, 5e-324, 1.7e308])
def test_a_float_stays_exact_even_where_json_has_no_word_for_it(value: float) -> None:
    assert decode(Outcome, encode(Outcome(number=1, done=True, took_s=value))).took_s == value


def test_a_broken_character_does_not_break_the_history() -> None:
    event = TurnFailed(at_s=1.0, error="file \udcff.csv\0")
    assert decode_event("TurnFailed", encode(event)) == TurnFailed(at_s=1.0, error="file ?.csv\0")


def test_secrets_are_masked_in_texts_and_keys_but_numbers_and_own_words_stay() -> None:
    redactor = Redactor(frozenset({"q", "5", "processing_time"}))
    stored = decode(Knowledge, encode_knowledge(KNOWLEDGE, redactor))
    assert stored.desired.triggers == {"***": Trigger(interval_s=5)}


@pytest.mark.parametrize("text", ["{", "[]", '{"at_s": "soon"}', "{}"])
def test_what_cannot_be_read_is_said_in_one_line(text: str) -> None:
    with pytest.raises(DecodeError, match=r"^it holds a NothingToDo that this Penstock cannot read, .+$"):
        decode(NothingToDo, text)


@pytest.mark.parametrize("decoder", [decode_event, decode_instruction])
def test_a_kind_of_a_later_penstock_is_named(decoder: Any) -> None:
    with pytest.raises(DecodeError, match="it holds a FromTheFuture, which this Penstock does not know"):
        decoder("FromTheFuture", "{}")
