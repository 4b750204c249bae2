"""A broker that answers before it knows is asked again."""

import pytest

from penstock.core.errors import NotReachable
from penstock.kafka.topics import Asking, known_offset

NOBODY = {"bootstrap.servers": "127.0.0.1:1"}


def test_an_end_that_is_not_known_yet_is_asked_for_again_until_it_is() -> None:
    said = iter([-1001, -1001, -1001, -1001, -1001, -1001, -1001, 91])
    assert Asking(NOBODY, timeout_s=30.0).ask(lambda admin, within_s: known_offset("numbers", 0, next(said))) == 91


def test_an_end_that_is_never_known_is_said_in_words_and_no_number() -> None:
    with pytest.raises(NotReachable, match="partition 0 of numbers has no leader yet"):
        Asking(NOBODY, timeout_s=1.5).ask(lambda admin, within_s: known_offset("numbers", 0, -1001))
