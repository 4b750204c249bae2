"""Topics as they are named on a command line."""

from __future__ import annotations

from penstock.core.errors import NotReachable, UserMistake
from penstock.kafka.topics import make_topics, partitions_of


def the_topic(client: dict[str, str], text: str) -> tuple[str, int]:
    """The topic and its partitions, made if it is not there and they are given."""
    name, given, _ = text.partition(":")
    try:
        if given:
            name, count = topic_of(text)
            return name, make_topics(client, {name: count})[name]
        there = partitions_of(client)
    except NotReachable as error:
        raise UserMistake(str(error)) from None
    if name not in there:
        raise UserMistake(f"there is no topic {name!r}; say {name}:4 to make it with four partitions")
    return name, there[name]


def topic_of(text: str) -> tuple[str, int]:
    """
    >>> topic_of("clicks:4")
    ('clicks', 4)
    """
    name, _, number = text.partition(":")
    if not name or not number.isdigit() or int(number) < 1:
        raise UserMistake(f"--topic: found {text!r}, a name and a number of partitions such as clicks:4 is allowed")
    return name, int(number)
