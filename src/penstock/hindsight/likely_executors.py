"""How many executors policies take, and may take: what a row costs is measured, and not exactly known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.core.models.estimate import Estimate
from penstock.simulator.graph import Simulable
from penstock.wiring.setup import Setup
from penstock.wiring.simulation import Progress, Simulated, simulate_all

LONGEST_S = 3 * 3600.0
"""Of a longer load what rows may cost is tried on the last so long: an audit of a day would take three times as long otherwise."""


def simulate_likely(
    setup: Setup, likely: Sequence[Simulable], policies: Sequence[str], progress: Progress
) -> tuple[tuple[Simulated, ...], dict[str, Estimate]]:
    """The runs of all policies, and by their names the average executors of each within what they are with each of the likely settings, if there are any."""
    last = of_last(setup)
    engines = () if not likely else tuple(likely) if last is setup else (setup.engine, *likely)
    whole_s, last_s = (len(policies) * (each.load.last_s - each.load.time_s[0]) for each in (setup, last))

    def part(before_s: float) -> Progress:
        return lambda done_s, _: progress(before_s + done_s, whole_s + len(engines) * last_s)

    runs = simulate_all(setup, policies, part(0.0))
    tried = [averages(runs)] if last is setup else []
    for number, engine in enumerate(engines):
        tried.append(averages(simulate_all(replace(last, engine=engine), policies, part(whole_s + number * last_s))))
    return runs, {run.policy: within(run.score.average_workers, [each[run.policy] for each in tried]) for run in runs} if likely else {}


def of_last(setup: Setup, longest_s: float = LONGEST_S) -> Setup:
    """With the last of its load, and what strikes then; as it is where it is no longer."""
    start_s, end_s = setup.load.last_s - longest_s, setup.load.last_s
    if start_s <= setup.load.time_s[0]:
        return setup
    return replace(setup, load=setup.load.between(start_s, end_s), faults=tuple(fault for fault in setup.faults if fault.at_s >= start_s))


def averages(runs: Sequence[Simulated]) -> dict[str, float]:
    return {run.policy: run.score.average_workers for run in runs}


def within(value: float, tried: Sequence[float]) -> Estimate:
    """A number within as large a share more and less as was tried, where the first is at the cost that the number is of.

    >>> within(10.0, [4.0, 5.0, 3.0])
    Estimate(value=10.0, low=7.5, high=12.5)
    """
    return Estimate(value=value, low=value * (min(tried) / tried[0]), high=value * (max(tried) / tried[0]))
