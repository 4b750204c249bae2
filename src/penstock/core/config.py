"""All settings, each declared once with its default, bounds and meaning; the unit is in the name."""

from dataclasses import dataclass, fields

from penstock.core import settings
from penstock.core.settings import setting

USUAL_READING_S = 15.0
"""Time between two readings on other clusters than the embedded one, and of simulated and logged jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The numbers Penstock works with; the `[settings]` table of a job file changes them by name."""

    reading_interval_s: float = setting(
        5.0, f"time between two readings ({USUAL_READING_S:g} s on other clusters than the embedded one)", lowest=0.2, highest=600
    )
    reading_window_s: float = setting(15.0, "shortest time over which throughput, latency and busyness are averaged", lowest=1, highest=3600)
    hold_s: float = setting(3600.0, "how long an operator's value is held by default", lowest=1, highest=30 * 86400)
    executors_timeout_s: float = setting(120.0, "executors that have not come by then are reported missing", lowest=1, highest=3600)
    commit_wait_s: float = setting(60.0, "a change waits this long for a commit, then stops the query where it is", lowest=1, highest=3600)
    gap_wait_s: float = setting(15.0, "surplus executors wait this long for a moment without a batch", lowest=0, highest=600)
    stop_grace_s: float = setting(60.0, "time for the running batch to commit on Ctrl-C or SIGTERM", lowest=0, highest=3600)
    restart_backoff_s: float = setting(1.0, "wait before a query's second restart; the first comes at once, each later wait doubles", lowest=0, highest=600)
    restart_backoff_max_s: float = setting(60.0, "longest wait before a restart", lowest=0, highest=3600)
    restart_budget: int = setting(5, "restarts of a query allowed within the window", lowest=0, highest=1000)
    restart_window_s: float = setting(600.0, "window of `restart_budget`", lowest=1, highest=86400)
    restart_same_error: int = setting(3, "failures in a row with one error and no commit after which a query is given up", lowest=1, highest=100)
    history_days: float = setting(30.0, "age at which readings and events are dropped", lowest=0.01, highest=3650)
    history_mb: float = setting(256.0, "largest history file; the oldest rows are dropped", lowest=1, highest=100_000)
    longest_batch_s: float = setting(0.0, "longest batch where no latency is promised; 0: two trigger intervals, at least 10 s", lowest=0, highest=86400)
    snapshot_interval_s: float = setting(60.0, "time between two snapshots beside the checkpoint", lowest=1, highest=86400)
    lease_expiry_s: float = setting(180.0, "a lease not renewed for this time is void", lowest=10, highest=86400)
    learn_interval_s: float = setting(15.0, "time between two readings that capacity models learn from", lowest=0.2, highest=3600)
    forecast_interval_s: float = setting(60.0, "time between two forecasts", lowest=1, highest=3600)
    fit_timeout_s: float = setting(120.0, "a fit is given up after this time", lowest=1, highest=3600)
    fit_memory_mb: int = setting(2048, "most memory of a fit", lowest=256, highest=1_000_000)

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
