"""Every setting, once: the unit is in its name, beside it stand default, bounds and meaning."""

from __future__ import annotations

from dataclasses import dataclass, fields

from penstock.core import settings
from penstock.core.settings import setting

USUAL_READING_S = 15.0
"""Between two readings of a job on a cluster of its own; of a simulated or a logged one as much time is between two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The numbers Penstock works with; the `[settings]` table of a job file changes them by name."""

    reading_interval_s: float = setting(
        5.0, f"time between two readings ({USUAL_READING_S:g} s where the cluster is not the embedded one)", lowest=0.2, highest=600
    )
    reading_window_s: float = setting(
        15.0,
        "throughput, latency and busyness are averages over at least this time, which ends at a commit where there are micro-batches",
        lowest=1,
        highest=3600,
    )
    hold_s: float = setting(3600.0, "an operator's command holds its value for this time unless it says otherwise", lowest=1, highest=30 * 86400)
    executors_timeout_s: float = setting(120.0, "executors asked for that have not come by then are reported missing", lowest=1, highest=3600)
    commit_wait_s: float = setting(60.0, "a change that needs a commit waits this long for it, then stops the query where it is", lowest=1, highest=3600)
    gap_wait_s: float = setting(15.0, "surplus executors wait this long for a moment at which no query is in a batch", lowest=0, highest=600)
    stop_grace_s: float = setting(60.0, "on Ctrl-C or SIGTERM the running batch may take this long to commit", lowest=0, highest=3600)
    restart_backoff_s: float = setting(
        1.0, "wait before the second restart of a failed query; the first comes at once, each later wait doubles", lowest=0, highest=600
    )
    restart_backoff_max_s: float = setting(60.0, "longest wait before a restart", lowest=0, highest=3600)
    restart_budget: int = setting(5, "restarts of one query allowed within the budget's window", lowest=0, highest=1000)
    restart_window_s: float = setting(600.0, "window of the restart budget", lowest=1, highest=86400)
    restart_same_error: int = setting(3, "a query that fails this often in a row with one error and without a commit is given up", lowest=1, highest=100)
    history_days: float = setting(30.0, "readings and events older than this are dropped", lowest=0.01, highest=3650)
    history_mb: float = setting(256.0, "the history file is kept below this size, oldest first", lowest=1, highest=100_000)
    snapshot_interval_s: float = setting(60.0, "time between two snapshots of the history beside the checkpoint", lowest=1, highest=86400)
    lease_expiry_s: float = setting(180.0, "a driver on another machine that did not renew its lease for this time is taken for dead", lowest=10, highest=86400)
    learn_interval_s: float = setting(15.0, "time between two readings that the models of capacity learn from", lowest=0.2, highest=3600)
    forecast_interval_s: float = setting(60.0, "a forecast is used for this time before the next is made", lowest=1, highest=3600)
    fit_timeout_s: float = setting(120.0, "a fit that has not come back by then is given up", lowest=1, highest=3600)
    fit_memory_mb: int = setting(2048, "a fit that needs more memory than this fails", lowest=256, highest=1_000_000)

    def __post_init__(self) -> None:
        for each in fields(self):
            check(each.name, getattr(self, each.name))


def check(name: str, value: object) -> None:
    """Raise `UserMistake` unless `value` is allowed for the setting `name`.

    >>> check("reading_interval_s", 0)
    Traceback (most recent call last):
    penstock.core.errors.UserMistake: settings.reading_interval_s: found 0, a number from 0.2 to 600 is allowed
    """
    settings.check(Config, "settings", name, value)


EVEN = Config(reading_interval_s=USUAL_READING_S, reading_window_s=USUAL_READING_S)
"""CPU and throughput are averages of the same time, or capacity would be judged wrongly while the load moves."""
