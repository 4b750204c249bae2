"""How far policies are from the oracle over many jobs, and whether `auto` reaches its targets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from penstock.bench.compared_run import ORACLE
from penstock.bench.random_jobs import LIVE, STOPS
from penstock.bench.results import Results, Row
from penstock.core.policies.registry import POLICIES, labelled

OURS = "auto"
OF_ORACLE: Mapping[str, float] = {LIVE: 1.2, STOPS: 1.35}
"""The most executor-seconds of `auto` relative to the oracle's, at the median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """A policy over all jobs of a kind. Executor-seconds are relative to the oracle's at the median and at 90 %; `broken_s` are the mean seconds of violation
    of a job, and `beyond_s` those beyond the oracle's."""

    kind: str
    label: str
    jobs: int
    of_oracle: float
    of_oracle_90: float
    broken_s: float
    beyond_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoTarget:
    what: str
    value: float
    most: float

    @property
    def missed(self) -> bool:
        return not self.value <= self.most

    def words(self) -> str:
        return f"{self.what}: {self.value:.3g}, at most {self.most:.3g}{'; MISSED' if self.missed else ''}"


def summary_of(results: Results) -> tuple[SummaryRow, ...]:
    """Return a row for each policy and kind of job, the fewest seconds of violation first; jobs on which a policy or the oracle failed are left out."""
    found: dict[tuple[str, str], list[tuple[Row, Row]]] = {}
    for workload in results.workloads:
        rows = {row.label: row for row in workload.rows}
        for label, row in rows.items():
            named = "static" if label.startswith("static") else label
            if ORACLE in rows:
                found.setdefault((workload.workload.name.split()[0], named), []).append((row, rows[ORACLE]))
    made = [summed(kind, label, pairs) for (kind, label), pairs in found.items()]
    return tuple(sorted(made, key=lambda row: (row.kind, row.label == ORACLE, row.broken_s)))


def summed(kind: str, label: str, pairs: Sequence[tuple[Row, Row]]) -> SummaryRow:
    relative = [row.executor_s.median / oracle.executor_s.median for row, oracle in pairs]
    broken = [(broken_s(row), broken_s(oracle)) for row, oracle in pairs]
    return SummaryRow(
        kind=kind,
        label=label,
        jobs=len(pairs),
        of_oracle=median(relative),
        of_oracle_90=float(np.quantile(relative, 0.9)),
        broken_s=sum(one for one, _ in broken) / len(broken),
        beyond_s=sum(one - other for one, other in broken) / len(broken),
    )


def broken_s(row: Row) -> float:
    return 0.0 if row.violation_s is None else row.violation_s.median


def auto_targets(rows: Sequence[SummaryRow]) -> tuple[AutoTarget, ...]:
    """Return what `auto` is to reach: executor-seconds near the oracle's, and no more seconds of violation than the best faithful policy."""
    targets = []
    for kind, most in OF_ORACLE.items():
        of_kind = {row.label: row for row in rows if row.kind == kind}
        others = [row for label, row in of_kind.items() if label not in (ORACLE, "static") and POLICIES[labelled(label).name]().faithful]
        if OURS in of_kind and others:
            best = min(others, key=lambda row: row.broken_s)
            targets.append(AutoTarget(what=f"{kind}: executor-seconds of {OURS} relative to the oracle's, median", value=of_kind[OURS].of_oracle, most=most))
            targets.append(
                AutoTarget(
                    what=f"{kind}: mean seconds of violation of {OURS}; the best other is {best.label}", value=of_kind[OURS].broken_s, most=best.broken_s
                )
            )
    return tuple(targets)
