"""Questions to a broker: repeated while it does not answer, given up once it refuses the client."""

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

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
