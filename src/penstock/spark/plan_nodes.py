"""The operators of a physical plan, read from the tree that Spark draws of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

SOURCE = "StreamingRelation"
_NODE = re.compile(r"(?P<drawing>(?:[: ]  )*[:+]- )?(?:\*(?:\(\d+\) )?)?(?P<text>(?P<name>\w+).*)")
_LEVEL = len("+- ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An operator: its name, the whole line without the drawing, and the name of the operator that takes its rows."""

    name: str
    text: str
    above: str | None


def nodes_of_stream(plan: str) -> list[Node]:
    """The operators that rows of a stream pass, from the last one down; not its sources, nor what only makes a static table.

    >>> drawn = '''== Physical Plan ==
    ... *(1) BroadcastHashJoin [a#1], [a#2], Inner, BuildRight
    ... :- *(1) Filter (language#1 = Python)
    ... :  +- StreamingRelation kafka, [value#1]
    ... +- BroadcastExchange HashedRelationBroadcastMode, [plan_id=7]
    ...    +- Sort [a#2 ASC NULLS FIRST], false, 0'''
    >>> [node.name for node in nodes_of_stream(drawn)]
    ['BroadcastHashJoin', 'Filter']
    """
    found: list[Node] = []
    path: list[int] = []
    passed: set[int] = set()
    for line in plan.splitlines():
        drawn = _NODE.match(line)
        if drawn is None or (found and not drawn["drawing"]):  # a heading, or the rest of a literal with a line break
            continue
        del path[len(drawn["drawing"] or "") // _LEVEL :]
        if drawn["name"] == SOURCE:
            passed.update(path)
        found.append(Node(name=drawn["name"], text=drawn["text"], above=found[path[-1]].name if path else None))
        path.append(len(found) - 1)
    return [found[index] for index in sorted(passed)]
