"""What the actuator refuses without asking Spark."""

from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

from changes import changing

from penstock.core.config import Config
from penstock.core.domain.instruction import Outcome
from penstock.spark.actuator import SparkActuator


def test_a_knob_that_spark_does_not_apply_is_refused() -> None:
    query: Any = SimpleNamespace(name="a", state="running", is_real_time=False)
    nothing: Any = None
    outcomes: SimpleQueue[Outcome] = SimpleQueue()
    actuator = SparkActuator(session=nothing, pool=nothing, queries=[query], config=Config(), redact=str, last_reading=lambda: None)
    actuator.perform(changing(1, "a", kept_share=(1.0, 0.5)), outcomes.put)
    outcome = outcomes.get(timeout=30.0)
    assert not outcome.done and outcome.reason == "kept-share:a cannot be set on Spark"
