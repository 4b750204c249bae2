"""Topics: created with a given number of partitions, and asked for their end offsets. A question is repeated while the broker does not answer."""

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec  # type: ignore[attr-defined]

from penstock.core.errors import NotReachable, UserMistake

ANSWER_S = 30.0
_FIRST_TRY_S = 1.0
_PAUSE_S = 0.2
"""The pause after an error that came at once, such as while a leader is being elected."""
REFUSALS = (
    KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)  # fmt: skip

Answer = TypeVar("Answer")


class Asking:
    """An admin client, for questions about topics."""

    def __init__(self, client: Mapping[str, str], timeout_s: float = ANSWER_S) -> None:
        self._servers = client.get("bootstrap.servers", "")
        self._timeout_s = timeout_s
        self._refusal: KafkaError | None = None
        self._admin = make_client(AdminClient, {**client, "error_cb": self._hear})

    def ask(self, question: Callable[[AdminClient, float], Answer]) -> Answer:
        """Return what `question(admin, timeout_s)` returns, repeated until it succeeds or time is up."""
        deadline, try_s = time.monotonic() + self._timeout_s, _FIRST_TRY_S
        while True:
            asked_s = time.monotonic()
            left_s = deadline - asked_s
            try:
                return question(self._admin, max(0.1, min(try_s, left_s)))
            except KafkaException as error:
                self._admin.poll(0)
                refusal = self._refusal or (error.args[0] if error.args[0].code() in REFUSALS else None)
                if refusal is not None:
                    raise UserMistake(refusal_words(self._servers, refusal)) from None
                if left_s <= try_s:
                    raise NotReachable(f"kafka: {self._servers} does not answer: {words_of(error.args[0])}") from None
            if time.monotonic() - asked_s < _PAUSE_S:
                time.sleep(_PAUSE_S)
            else:
                try_s *= 2

    def _hear(self, error: KafkaError) -> None:
        if error.code() in REFUSALS:
            self._refusal = error


def make_client(kind: Callable[[dict[str, Any]], Any], options: Mapping[str, Any]) -> Any:
    """Return a client of librdkafka that logs nothing; raise a `UserMistake` for options that it does not accept."""
    try:
        return kind({**options, "log_level": 0})
    except KafkaException as error:
        raise UserMistake(f"kafka: the client's options are not accepted: {words_of(error.args[0])}") from None


def refusal_words(servers: str, error: KafkaError) -> str:
    return f"kafka: {servers} refuses the client, see its kafka.* options: {words_of(error)}"


def words_of(error: KafkaError) -> str:
    """Return what librdkafka says, without how long it took.

    >>> words_of(KafkaError(KafkaError._AUTHENTICATION, "sasl_ssl://a:1/bootstrap: SASL error: Invalid password (after 306ms in state AUTH_REQ)"))
    'SASL error: Invalid password'
    """
    said = str(error.str()).split(" (after ")[0]
    before, found, after = said.partition(": ")
    return after if found and "://" in before else said


def make_topics(client: Mapping[str, str], partitions: Mapping[str, int], timeout_s: float = ANSWER_S) -> dict[str, int]:
    """Create the topics that do not exist; refuse those that exist with another number of partitions."""
    there = partitions_of(client, timeout_s)
    missing = {topic: count for topic, count in partitions.items() if topic not in there}
    if missing:
        _create(client, missing, timeout_s)
        there = _wait_known(client, set(partitions), timeout_s)
    for topic, wanted in partitions.items():
        if there.get(topic) != wanted:
            raise UserMistake(f"kafka.topics.{topic}: found {wanted} partitions, the topic has {there.get(topic, 0)}; say so, or name another topic")
    return dict(partitions)


def remove_topic(client: Mapping[str, str], topic: str, timeout_s: float = ANSWER_S) -> None:
    """Remove the topic if it is there."""
    if topic in partitions_of(client, timeout_s):
        Asking(client, timeout_s).ask(lambda admin, _: admin.delete_topics([topic])[topic].result())


def partitions_of(client: Mapping[str, str], timeout_s: float = ANSWER_S) -> dict[str, int]:
    found = Asking(client, timeout_s).ask(lambda admin, within_s: admin.list_topics(timeout=within_s)).topics
    return {name: len(topic.partitions) for name, topic in found.items() if topic.error is None}


def end_offsets(client: Mapping[str, str], topic: str, partitions: int, timeout_s: float = ANSWER_S) -> list[int]:
    wanted = {TopicPartition(topic, each): OffsetSpec.latest() for each in range(partitions)}  # type: ignore[no-untyped-call]

    def ends(admin: AdminClient, within_s: float) -> dict[int, int]:
        found = admin.list_offsets(wanted, request_timeout=within_s)
        return {place.partition: known_offset(topic, place.partition, end.result().offset) for place, end in found.items()}

    found = Asking(client, timeout_s).ask(ends)
    return [found[each] for each in range(partitions)]


def known_offset(topic: str, partition: int, offset: int) -> int:
    """Return the offset if it is valid: while a leader is being elected, librdkafka returns -1001 and no error."""
    if offset < 0:
        raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE, f"partition {partition} of {topic} has no leader yet"))
    return offset


def _create(client: Mapping[str, str], partitions: Mapping[str, int], timeout_s: float) -> None:
    """Create topics with the broker's default replication; one that exists by now is fine."""
    admin = make_client(AdminClient, client)
    for topic, made in admin.create_topics([NewTopic(topic, count) for topic, count in partitions.items()]).items():
        try:
            made.result(timeout_s)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise UserMistake(f"kafka.topics.{topic}: it could not be made: {words_of(error.args[0])}") from None


def _wait_known(client: Mapping[str, str], wanted: set[str], timeout_s: float) -> dict[str, int]:
    """Wait until the broker lists all these topics: it confirms their creation a little earlier."""
    deadline = time.monotonic() + timeout_s
    while True:
        there = partitions_of(client, timeout_s)
        if wanted <= set(there) or time.monotonic() > deadline:
            return there
        time.sleep(0.1)
