"""Compare the believed throughput of a job on real Spark, after others took the CPU, with the throughput that it then reaches."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from penstock.core.analyze.analyze import analyze
from penstock.core.analyze.assess import assess
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.policy import Need
from penstock.core.knowledge.terms import Terms
from penstock.processes import die_with_parent, end_process
from penstock.runtime.steady_clock import SteadyClock
from penstock.selftest.spark_runs import workload_folder

NAME = "selftest-capacity"
CONTENDED_S, LATER_S = 90.0, 60.0
"""How long others compute all the time, and how long after that the belief is taken."""
LOOPS = 2
SATURATED_S, BEYOND = 30.0, 1.5
"""How long the job is overloaded then, and by how many times what is believed."""
WATCH_S = 0.5
NEEDS: frozenset[Need] = frozenset({"load", "capacity", "latency"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Saturated:
    """The saturated throughput in rows/s of some executors, as believed and as it then was."""

    executors: int
    believed_rows_per_s: float | None
    measured_rows_per_s: float


@contextmanager
def contention(loops: int = LOOPS) -> Iterator[None]:
    """Run programs that compute all the time."""
    made = [subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=die_with_parent) for _ in range(loops)]
    try:
        yield
    finally:
        for each in made:
            end_process(each)


def contended_run(progress: Callable[[float], None]) -> Saturated:
    """Run the job of the demonstration beside busy loops, then alone, and overload it."""
    from penstock.wiring.copies import SparkTestbed

    clock, all_s = SteadyClock(), CONTENDED_S + LATER_S + SATURATED_S

    def wait(from_s: float, seconds: float, before_s: float) -> None:
        while (passed_s := clock.now_s() - from_s) < seconds:
            progress((before_s + passed_s) / all_s)
            clock.wait(WATCH_S)

    with workload_folder("lookup", NAME, lambda toml: toml) as loaded:
        spec = loaded.spec
        with closing(SparkTestbed(spec, clock, secrets=loaded.secrets, autopilot=spec.autopilot)) as testbed:
            start_s = clock.now_s()
            with contention():
                copy = testbed.launch(Configuration(executors=spec.limits.first))
                wait(start_s, CONTENDED_S, 0.0)
            wait(clock.now_s(), LATER_S, CONTENDED_S)
            copy.pause(2 * SATURATED_S)
            readings, terms = copy.recorded()[0], Terms.of(copy.spec)
            executors = readings[-1].executors_running
            believed = believed_throughput(readings, terms)
            copy.set_rate(BEYOND * max(believed or 0.0, *(each.throughput_rows_per_s or 0.0 for each in readings)))
            wait(clock.now_s(), SATURATED_S, CONTENDED_S + LATER_S)
            later = [each for each in copy.recorded()[0] if each.at_s > readings[-1].at_s]
    return Saturated(executors=executors, believed_rows_per_s=believed, measured_rows_per_s=throughput_in_overload(later))


def believed_throughput(readings: Sequence[Reading], terms: Terms) -> float | None:
    """Return the saturated throughput of the present executors in rows/s that Penstock has learnt from the readings; None while it is not known."""
    configuration = Configuration(executors=readings[0].executors_requested)
    knowledge = Knowledge(declared=configuration, desired=configuration)
    for reading in readings:
        knowledge = analyze(replace(knowledge, last=reading), Inputs(at_s=reading.at_s, reading=reading), terms, NEEDS, decides=False).knowledge
    last = readings[-1]
    return assess(knowledge, None, last.at_s, terms, NEEDS, [last.executors_running]).saturated(last.executors_running)


def throughput_in_overload(readings: Sequence[Reading]) -> float:
    """Return the rows/s of the larger half of the batches: those that took all the time and had the most rows."""
    batches = {(each.rows, each.took_s) for reading in readings for query in reading.queries if query.batch for each in query.batch.each}
    largest = sorted(batches)[len(batches) // 2 :]
    took_s = sum(took_s for _, took_s in largest)
    if not took_s:
        raise RuntimeError("no batch ended while the job was overloaded")
    return sum(rows for rows, _ in largest) / took_s
