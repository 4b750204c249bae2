"""How many rows waited at the sources of a batch, where its progress tells."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def behind_rows(sources: Iterable[Mapping[str, Any]]) -> float | None:
    """Rows that had arrived when the batch began and are not in it, over all sources; None where one of them does not tell."""
    told = [behind_of(source) for source in sources]
    return None if not told or None in told else float(sum(each for each in told if each is not None))


def behind_of(source: Mapping[str, Any]) -> float | None:
    """Of one source: Kafka's offsets count rows, by topic and partition; its own metric is their mean over the partitions.

    >>> behind_of({"endOffset": '{"clicks":{"0":70,"1":80}}', "latestOffset": '{"clicks":{"0":100,"1":80}}'})
    30.0
    >>> behind_of({"endOffset": '{"clicks":{"0":70,"1":80}}', "metrics": {"avgOffsetsBehindLatest": "15.0"}})
    30.0
    >>> behind_of({"endOffset": '{"logOffset":7}', "latestOffset": '{"logOffset":9}'}) is None
    True
    """
    end, newest = partitions_of(source.get("endOffset")), partitions_of(source.get("latestOffset"))
    if end is None:
        return None
    if newest is not None:
        return float(sum(max(0, count - end.get(partition, count)) for partition, count in newest.items()))
    mean = (source.get("metrics") or {}).get("avgOffsetsBehindLatest")
    return None if mean is None else max(0.0, float(mean)) * len(end)


def partitions_of(offset: Any) -> dict[tuple[str, str], int] | None:
    """Kafka's offset by topic and partition; None for what another source made. The log holds it as text, a progress report as an object."""
    if isinstance(offset, str):
        try:
            offset = json.loads(offset)
        except ValueError:
            return None
    if not isinstance(offset, dict) or not offset:
        return None
    found: dict[tuple[str, str], int] = {}
    for topic, partitions in offset.items():
        if not isinstance(partitions, dict):
            return None
        for partition, count in partitions.items():
            if not isinstance(count, int):
                return None
            found[str(topic), str(partition)] = count
    return found
