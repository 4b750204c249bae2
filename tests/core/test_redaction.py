import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.redaction import Redactor

SECRET = 'pa"ss/w ö\\rd'


def test_without_secrets_a_text_is_returned_as_it_is() -> None:
    text = "nothing to hide" * 10
    assert Redactor().text(text) is text


def test_an_empty_secret_is_ignored() -> None:
    assert Redactor(frozenset({""})).text("abc") == "abc"


def test_the_longest_secret_is_masked_first() -> None:
    assert Redactor(frozenset({"key", "key-long"})).text("key-long and key") == "*** and ***"


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        quote(SECRET),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        quote(SECRET).lower(),
    ],
)
def test_a_secret_is_masked_in_every_form_it_may_take(form: str) -> None:
    assert Redactor(frozenset({SECRET})).text(f"before {form} after") == "before *** after"


def test_secrets_that_overlap_leave_nothing_of_either() -> None:
    assert Redactor(frozenset({"abc", "cde"})).text("xabcdex") == "x***x"


def test_it_does_not_show_its_secrets() -> None:
    assert "hunter2" not in repr(Redactor(frozenset({"hunter2"})))


@given(secrets=st.frozensets(st.text(alphabet="abc", min_size=1, max_size=4), max_size=4), text=st.text(alphabet="abcd", max_size=40))
def test_no_secret_is_left_and_nothing_else_is_touched(secrets: frozenset[str], text: str) -> None:
    clean = Redactor(secrets).text(text)
    assert not any(secret in clean for secret in secrets)
    assert clean.count("d") == text.count("d")
    if not any(secret in text for secret in secrets):
        assert clean == text
