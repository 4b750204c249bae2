"""The benchmark jobs by name, and a job file for each: on a trace, or on an embedded Kafka broker that a feeder fills."""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.core.errors import UserMistake


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkQuery:
    """A query, named as its function. `in_real_time` says whether Real-Time Mode allows it; `why` it does not."""

    function: str
    output_mode: str = "update"
    why: str = ""

    @property
    def name(self) -> str:
        return self.function.rpartition(":")[2]

    @property
    def in_real_time(self) -> bool:
        return not self.why


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A benchmark job. The module of its name has the functions of its queries, and by default `rows`; every source has a seed of its own."""

    name: str
    says: str
    queries: tuple[BenchmarkQuery, ...]
    rate: str = "sine(mean=2k, amplitude=1k, period=10m)"
    sources: tuple[str, ...] = ("events",)
    rows: str = "job.py:make_rows"
    raw: bool = False


VEHICLES = "penstock.workloads.vehicles:make_rows"
APPENDS = "it is written when its window is over, and Real-Time Mode writes updates"
BENCHMARKS = {
    each.name: each
    for each in (
        Benchmark(name="wordcount", says="WordCount: running counts of skewed words", queries=(BenchmarkQuery(function="job.py:counted"),)),
        Benchmark(name="ysb", says="Yahoo Streaming Benchmark: views of each campaign in 10 s", queries=(BenchmarkQuery(function="job.py:viewed"),), raw=True),
        Benchmark(
            name="topspeed",
            says="Top Speed Windowing: top speed of each car over the last 10 s, every 50 m",
            queries=(BenchmarkQuery(function="job.py:top_speeds", why="transformWithState of PySpark is a Python operator"),),
        ),
        Benchmark(
            name="traffic",
            says="Traffic Monitoring: average speeds within a radius in 10 s",
            queries=(BenchmarkQuery(function="job.py:speeds"),),
            rows=VEHICLES,
        ),
        Benchmark(
            name="iot_vehicles",
            says="IoT Vehicles: speeding within a radius, 3 s sliding by 1 s",
            queries=(BenchmarkQuery(function="job.py:speeding"),),
            rows=VEHICLES,
        ),
        Benchmark(
            name="taxi",
            says="Taxi drives: two sources, two sinks, the second heavier",
            queries=(BenchmarkQuery(function="job.py:earnings"), BenchmarkQuery(function="job.py:routes")),
            sources=("yellow", "green"),
        ),
        Benchmark(name="knn", says="K-nearest neighbours: CPU and no state", queries=(BenchmarkQuery(function="job.py:classified", output_mode="append"),)),
        Benchmark(
            name="nexmark",
            says="Nexmark: queries 1, 2, 5, 8 and 11 (user sessions) over an auction house",
            queries=(
                BenchmarkQuery(function="job.py:q1", output_mode="append"),
                BenchmarkQuery(function="job.py:q2", output_mode="append"),
                BenchmarkQuery(function="job.py:q5", output_mode="append", why=APPENDS),
                BenchmarkQuery(function="job.py:q8", output_mode="append", why="streams are joined"),
                BenchmarkQuery(function="job.py:q11", output_mode="append", why="sessions are windows without an end"),
            ),
        ),
    )
}


def benchmark(name: str) -> Benchmark:
    """Return the benchmark job of this name; raise `UserMistake` for one that is not there.

    >>> benchmark("ysb").says
    'Yahoo Streaming Benchmark: views of each campaign in 10 s'
    """
    if name not in BENCHMARKS:
        raise UserMistake(f'--workload: found "{name}", {", ".join(BENCHMARKS)} are allowed')
    return BENCHMARKS[name]


def job_toml(of: Benchmark, *, kafka: bool = False, real_time: bool = False) -> str:
    """Return a job file: a query for each of the benchmark's, in Real-Time Mode those that it allows."""
    queries = [each for each in of.queries if each.in_real_time or not real_time]
    if not queries:
        raise UserMistake(f"--real-time: {of.name} cannot run in Real-Time Mode: {of.queries[0].why}")
    if real_time and not kafka:
        raise UserMistake("--real-time: add --kafka, as Real-Time Mode reads Kafka only")
    left_out = [f"# {each.name} cannot run in Real-Time Mode: {each.why}." for each in of.queries if each not in queries]
    parts = [
        "\n".join([f"# {of.says}.", *left_out, f'name = "{of.name.replace("_", "-")}"', 'master = "embedded"', "", "[limits]", "max_executors = 4"]),
        '[promises]\nlatency_p95 = "15s"\nrecovery = "2m"',
        *(_kafka(of, queries) if kafka else _traces(of)),
        *(_query(of, each, kafka=kafka, real_time=real_time) for each in queries),
        '[autopilot]\nmode = "observe"    # "active" lets the policy scale the job',
    ]
    return "\n\n".join(parts) + "\n"


def _traces(of: Benchmark) -> list[str]:
    return [f'[sources.{name}]\nformat = "trace"\n{_made(of, seed)}' for seed, name in enumerate(of.sources)]


def _made(of: Benchmark, seed: int) -> str:
    return f'rate = "{of.rate}"\nrows = "{of.rows}"\nseed = {seed}'


def _kafka(of: Benchmark, queries: list[BenchmarkQuery]) -> list[str]:
    topics = ", ".join([*(f"{name} = 4" for name in of.sources), *(f"{each.name} = 1" for each in queries)])
    raw = '\nvalue_format = "raw"' if of.raw else ""
    feeds = [f"[kafka.feeds.{name}]\n{_made(of, seed)}{raw}" for seed, name in enumerate(of.sources)]
    sources = [f'[sources.{name}]\nformat = "kafka"\nsubscribe = "{name}"\nstartingOffsets = "earliest"' for name in of.sources]
    return [f'[kafka]\nbootstrap = "embedded"\ntopics = {{ {topics} }}', *feeds, *sources]


def _query(of: Benchmark, query: BenchmarkQuery, *, kafka: bool, real_time: bool) -> str:
    lines: Mapping[str, str] = {
        "function": f'"{query.function}"',
        **({"sources": "[" + ", ".join(f'"{name}"' for name in of.sources) + "]"} if len(of.sources) > 1 else {}),
        "trigger": '{ real_time = "10s" }' if real_time else '"5s"',
        "output_mode": '"update"' if real_time else f'"{query.output_mode}"',
        "sink": f'{{ format = "kafka", topic = "{query.name}" }}' if kafka else '{ format = "noop" }',
    }
    return "\n".join([f"[queries.{query.name}]", *(f"{key} = {value}" for key, value in lines.items())])
