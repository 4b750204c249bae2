"""`--graph graph.toml` of `penstock simulate`: several queries on one engine."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.cli.engine_options import CONTINUOUS, MICRO_BATCH, EngineOptions
from penstock.cli.simulate_options import span_words
from penstock.core.errors import UserMistake
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.runtime.jobfile.loaded_job import read_document
from penstock.simulator.graph import GraphQuery, QueryGraph
from penstock.simulator.sharing import SCHEDULERS
from penstock.tables.measurements import read_trace

OWN = {
    CONTINUOUS: ("capacity_per_worker", "interval", "rate_limit"),
    MICRO_BATCH: ("capacity_per_worker", "row_cost_us", "trigger", "overhead", "partitions", "rate_limit", "noise", "skew"),
}
"""Options that each query of a graph may set; the others describe the executors, which the queries share."""
TEXTS = ("name", "reads", "trace")
NUMBERS = ("share", "selectivity")
WHOLE = ("partitions", "instances")


def graph_of(path: Path, options: EngineOptions, load: Arrivals) -> QueryGraph[Any]:
    """Read the queries of a file; what a query does not set comes from the options. Raise a UserMistake that says where the file is wrong."""
    options.settings()
    if not path.is_file():
        raise UserMistake(f"--graph: there is no file {path}")
    tree = read_document(path)
    queries, scheduler = tree.get("query", []), tree.get("scheduler", "fair")
    refuse_others(f"{path}", tree, ("scheduler", "query"))
    if not isinstance(scheduler, str) or scheduler not in SCHEDULERS:
        raise UserMistake(f'{path}: scheduler: found {scheduler!r}, "fair" or "fifo" is allowed')
    if not isinstance(queries, list) or not queries or not all(isinstance(query, dict) for query in queries):
        raise UserMistake(f"{path}: a table [[query]] is needed for each query")
    try:
        return QueryGraph(queries=instances_of(path, queries, options, load), scheduler=scheduler)
    except UserMistake as mistake:
        said = str(mistake)
        raise UserMistake(said if said.startswith(f"{path}") else f"{path}: {said}") from None


def instances_of(path: Path, tables: Iterable[Mapping[str, Any]], options: EngineOptions, load: Arrivals) -> tuple[GraphQuery[Any], ...]:
    """Return the instances of all queries; a query that reads another has as many as that one."""
    counts: dict[str, int] = {}
    found: list[GraphQuery[Any]] = []
    for table in tables:
        query = query_of(path, table, options, load)
        read = None if query.reads is None else counts.get(query.reads)
        count = counts[query.name] = table.get("instances", read or 1)
        if count < 1 or (read is not None and count != read):
            needed = "a whole number of at least 1 is needed" if read is None else f'"{query.reads}", which it reads, has {read}: as many are needed'
            raise UserMistake(f'{path}: query "{query.name}": instances: found {count}, {needed}')
        found += query.instances(count)
    return tuple(found)


def query_of(path: Path, table: Mapping[str, Any], options: EngineOptions, load: Arrivals) -> GraphQuery[Any]:
    name, own = table.get("name"), OWN[options.kind]
    if not isinstance(name, str) or not name:
        raise UserMistake(f'{path}: every [[query]] needs a name: name = "clicks"')
    where = f'{path}: query "{name}"'
    refuse_others(where, table, (*TEXTS, *NUMBERS, "instances", *own))
    for key, value in table.items():
        kind, words = (str, "a text") if key in TEXTS else (int, "a whole number") if key in WHOLE else ((int, float), "a number")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise UserMistake(f"{where}: {key}: found {value!r}, {words} is needed")
    if "reads" in table and {"share", "trace"} & set(table):
        raise UserMistake(f"{where}: it reads another query, so it has neither a share nor a trace of what arrives")
    if "share" in table and "trace" in table:
        raise UserMistake(f"{where}: it has a trace of its own, or a share of --trace, not both")
    try:
        settings: Any = replace(options, **{key: table[key] for key in own if key in table}).settings(name)
    except UserMistake as mistake:
        raise UserMistake(f"{where}: {str(mistake).removeprefix('--')}") from None
    arrivals = read_trace(path.parent / table["trace"]) if "trace" in table else None
    if arrivals is not None and not (arrivals.time_s[0] <= load.last_s and arrivals.last_s >= load.time_s[0]):
        raise UserMistake(f"{where}: trace: it goes {span_words(arrivals)} and the run {span_words(load)}: both must count from the same time")
    numbers = {key: float(table[key]) for key in NUMBERS if key in table}
    return GraphQuery(settings=settings, reads=table.get("reads"), arrivals=arrivals, **numbers)


def refuse_others(where: str, table: Mapping[str, Any], allowed: Iterable[str]) -> None:
    other = next((key for key in table if key not in allowed), None)
    if other is not None:
        raise UserMistake(f'{where}: there is no key "{other}" for this; there are {", ".join(allowed)}')
