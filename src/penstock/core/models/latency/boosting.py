"""Gradient boosting over (executors, rate), for profiles of some dozens of rows."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from penstock.core.models.arrays import Floats

FALLS_RISES = (-1, 1)
"""Monotonicity: latency falls with the number of executors and rises with the rate."""
ROUNDS = 20
LEARNING_RATE = 0.3
LEAVES = 6
SMALLEST_LEAF = 1
"""A profile holds each point once, so a leaf may be a single point; monotonicity and few rounds prevent overfitting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Boosted:
    """A fitted regression; it is never stored."""

    regressor: Any

    def at(self, executor_counts: Floats, rates_rows_per_s: Floats) -> Floats:
        with one_thread():
            return np.asarray(self.regressor.predict(np.column_stack([executor_counts, rates_rows_per_s])), dtype=float)


def monotone(executor_counts: Floats, rates_rows_per_s: Floats, values: Floats) -> Boosted:
    """Fit boosted trees that never rise with the number of executors nor fall with the rate.

    >>> fitted = monotone(np.array([1.0, 1.0, 2.0, 2.0]), np.array([5.0, 9.0, 5.0, 9.0]), np.array([0.0, 1.0, 2.0, 3.0]))
    >>> falls = fitted.at(np.array([1.0, 2.0]), np.array([9.0, 9.0]))
    >>> bool(falls[0] >= falls[1])
    True
    """
    from sklearn.ensemble import HistGradientBoostingRegressor

    regressor = HistGradientBoostingRegressor(
        max_iter=ROUNDS, learning_rate=LEARNING_RATE, max_leaf_nodes=LEAVES, min_samples_leaf=SMALLEST_LEAF, monotonic_cst=FALLS_RISES,
        early_stopping=False, random_state=0,
    )  # fmt: skip
    with one_thread():
        return Boosted(regressor=regressor.fit(np.column_stack([executor_counts, rates_rows_per_s]), values))


def plain(executor_counts: Floats, rates_rows_per_s: Floats, values: Floats) -> Boosted:
    """Fit gradient boosting without constraints: the paper's regression, for comparison (Phoebe sec. III-D)."""
    from sklearn.ensemble import GradientBoostingRegressor

    return Boosted(regressor=GradientBoostingRegressor(random_state=0).fit(np.column_stack([executor_counts, rates_rows_per_s]), values))


def one_thread() -> Any:
    """Return a context in which trees are grown by one thread: for some dozens of rows more threads only wait for each other."""
    return _thread_pools().limit(limits=1, user_api="openmp")


@lru_cache(maxsize=1)
def _thread_pools() -> Any:
    import sklearn.ensemble  # noqa: F401  # loads the thread pools
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
