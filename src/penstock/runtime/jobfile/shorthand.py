"""The shorthands for a job of one query: `[query]`, `[source]` and `[sink]`."""

from __future__ import annotations

from typing import Any

from penstock.runtime.jobfile.mistakes import Mistakes

SHORTHANDS = ("query", "source", "sink")


def written_out(tree: dict[str, Any], job_name: str, mistakes: Mistakes) -> dict[str, Any]:
    """The tree with `[query]` as `[queries.<job name>]`, `[source]` as `[sources.source]` and `[sink]` as the only query's sink.

    >>> written_out({"query": {"function": "f"}, "sink": {"format": "noop"}}, "a", Mistakes("job.toml", {}))
    {'queries': {'a': {'function': 'f', 'sink': {'format': 'noop'}}}}
    """
    full = {key: value for key, value in tree.items() if key not in SHORTHANDS}
    if "query" in tree:
        _move(tree, full, "query", ("queries", job_name), mistakes)
    if "source" in tree:
        _move(tree, full, "source", ("sources", "source"), mistakes)
    if "sink" in tree:
        _move_sink(tree["sink"], full, mistakes)
    return full


def _move(tree: dict[str, Any], full: dict[str, Any], short: str, to: tuple[str, str], mistakes: Mistakes) -> None:
    tables, name = full.get(to[0], {}), to[1]
    if not isinstance(tables, dict):
        return
    if name in tables:
        mistakes.add((short,), f"[{mistakes.where(to)}] is the same table; keep one of the two")
        return
    mistakes.written[to] = (short,)
    full[to[0]] = {name: tree[short], **tables}


def _move_sink(sink: object, full: dict[str, Any], mistakes: Mistakes) -> None:
    queries = full.get("queries", {})
    if not isinstance(queries, dict) or not all(isinstance(each, dict) for each in queries.values()):
        return
    if len(queries) != 1:
        mistakes.add(("sink",), f"[sink] is for a job of one query, here are {len(queries)}; write [queries.NAME.sink]")
        return
    [(name, query)] = queries.items()
    if "sink" in query:
        mistakes.add(("sink",), f"[{mistakes.where(('queries', name, 'sink'))}] is the same table; keep one of the two")
        return
    mistakes.written[("queries", name, "sink")] = ("sink",)
    full["queries"] = {name: {**query, "sink": sink}}
