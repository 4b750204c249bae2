from collections.abc import Callable
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError

from penstock.spark.spark_engine import SparkEngine


def lives(is_stopped: Callable[[], bool] | None) -> bool:
    """What an engine says on a context that answers so; None for one that its owner has stopped."""
    context = None if is_stopped is None else SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=is_stopped))
    engine = SimpleNamespace(session=SimpleNamespace(sparkContext=SimpleNamespace(_jsc=context)))
    return SparkEngine.lives(engine)  # type: ignore[arg-type]


def raising(error: Exception) -> Callable[[], bool]:
    def answer() -> bool:
        raise error

    return answer


@pytest.mark.parametrize("answer", [None, lambda: True, raising(Py4JNetworkError("no answer")), raising(ConnectionRefusedError(111, "Connection refused"))])
def test_a_driver_that_was_stopped_or_does_not_answer_lives_no_more(answer: Callable[[], bool] | None) -> None:
    assert not lives(answer)
    assert lives(lambda: False)


def test_a_mistake_of_ours_is_not_taken_for_a_dead_driver() -> None:
    with pytest.raises(TypeError):
        lives(raising(TypeError("isStopped() takes no arguments")))
