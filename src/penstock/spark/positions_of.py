"""Which source tells its positions, and how."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.spark.kafka_positions import KafkaPositions
from penstock.spark.positions import Positions, TracePositions
from penstock.trace.state import TraceState, recipe_of


def positions_of(name: str, options: Mapping[str, str]) -> Positions | None:
    """The positions of a source of this format; None for one that does not tell."""
    if name == "trace":
        return TracePositions(TraceState(Path(options["state"]), recipe_of(options)))
    if name == "kafka" and {option.lower() for option in options} & {"subscribe", "subscribepattern", "assign"}:
        return KafkaPositions(options)
    return None
