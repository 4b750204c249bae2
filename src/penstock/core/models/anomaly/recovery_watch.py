"""Detect disturbances, and when a disturbed job has recovered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from penstock.core.domain.disturbance import UNANNOUNCED, AnyDisturbance, Disturbance
from penstock.core.models.anomaly.keeping_up import FEWEST, FlowSeen, KeepingUp
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.moments import Running

NORMAL_READINGS = 10
"""Normal readings in a row that end a recovery, at the first of them."""
ODD_READINGS = 3
"""Readings in a row that fall short before an unannounced disturbance is assumed."""
SIGMAS = 3.0
TOLERANCE = 0.05
"""A throughput within this share of the workload keeps up, however small the healthy deviation."""
LAG_TOLERANCE_S = 1.0
"""A lag of at most this many seconds of arrivals counts as none."""
VISIBLE_WITHIN_S = 60.0
"""A disturbance that does not show in the readings within this time never does: metrics are averages over up to a minute."""
ABANDONED_AFTER_S = 1800.0
"""An unannounced disturbance that is open for longer is dropped, and health is learnt anew."""

Standing = Literal["normal", "behind", "ahead"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryMeasured:
    """A job has recovered. `alone` is False when another disturbance came before that, so that the time is of both together. `cause` is the disturbance's.

    >>> RecoveryMeasured(kind="executor_loss", started_s=100.0, recovered_s=160.0).recovery_s
    60.0
    """

    kind: AnyDisturbance
    started_s: float
    recovered_s: float
    alone: bool = True
    cause: str = ""

    @property
    def recovery_s(self) -> float:
        return self.recovered_s - self.started_s


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryWatch:
    """Follows the readings of a job through health and disturbances; health is learnt from healthy readings only.

    A reading is normal when its difference of workload and throughput is near what health shows (Daedalus sec. 3.5) and its lag, in seconds of
    arrivals, is not above what health shows. A reading without both is ignored. `waited` is whether rows waited at the last reading.
    """

    normal_readings: int = NORMAL_READINGS
    odd_readings: int = ODD_READINGS
    sigmas: float = SIGMAS
    tolerance: float = TOLERANCE
    visible_within_s: float = VISIBLE_WITHIN_S
    abandoned_after_s: float = ABANDONED_AFTER_S
    keeping_up: KeepingUp = field(default_factory=KeepingUp)
    lag_s: Running = field(default_factory=Running)
    open: tuple[Disturbance, ...] = ()
    shown: bool = False
    in_a_row: int = 0
    row_since_s: float | None = None
    waited: bool = True

    def learn(self, seen: Sequence[FlowSeen | Disturbance]) -> RecoveryWatch:
        """Learn readings and announced disturbances in order; `read` also returns the recoveries that they complete."""
        watch = self
        for each in seen:
            watch = watch.disturbed(each.at_s, each.kind, cause=each.cause) if isinstance(each, Disturbance) else watch.read(each)[0]
        return watch

    def predict(self) -> Estimate | NotReady:
        """Predict workload minus throughput of a healthy job, in rows/s."""
        return self.keeping_up.predict()

    def disturbed(self, at_s: float, kind: AnyDisturbance, *, cause: str = "", same_within_s: float = 0.0) -> RecoveryWatch:
        """Open a recovery from this disturbance; recoveries that are open already are then from both.

        A single open unannounced disturbance is taken as this one if it began within `same_within_s` of it: readings may show a failure before it is counted.
        """
        if len(self.open) == 1 and self.open[0].kind == UNANNOUNCED and abs(self.open[0].at_s - at_s) <= same_within_s:
            return replace(self, open=(Disturbance(kind=kind, at_s=at_s, cause=cause),))
        return replace(self, open=(*self.open, Disturbance(kind=kind, at_s=at_s, cause=cause)), shown=False, in_a_row=0, row_since_s=None)

    def undisturbed(self) -> RecoveryWatch:
        """Drop open recoveries; keep what is known of health."""
        return replace(self, open=(), shown=False, in_a_row=0, row_since_s=None)

    def without(self, cause: str) -> RecoveryWatch:
        """Drop the open recovery from this disturbance: it did not happen."""
        left = tuple(each for each in self.open if each.cause != cause)
        return replace(self, open=left) if left else self.undisturbed()

    def read(self, seen: FlowSeen) -> tuple[RecoveryWatch, tuple[RecoveryMeasured, ...]]:
        """Take a reading; return the new watch and the recoveries that it completes."""
        standing = self.standing(seen)
        watched = replace(self, keeping_up=self.keeping_up.watch(seen), waited=rows_wait(seen))
        if standing is None:
            return watched, ()
        if not self.open:
            return watched._in_health(seen, standing), ()
        if standing != "normal":
            return watched._still_behind(seen), ()
        return watched._back(seen)

    def standing(self, seen: FlowSeen) -> Standing | None:
        """Compare a reading with health: "normal", "behind", or "ahead" of the workload while catching up; None where nothing is known.

        Without waiting rows now and at the reading before there is nothing to catch up with: a throughput above the workload is then a delayed one,
        of a moment when more rows arrived.
        """
        if self._lagging(seen):
            return "behind"
        beyond = self.keeping_up.beyond(seen)
        if beyond is None or seen.workload_rows_per_s is None:
            return None if seen.lag_rows is None or seen.workload_rows_per_s is None else "normal"
        usual = self.sigmas * self.keeping_up.watch(seen).deviation
        if abs(beyond) <= max(usual, self.tolerance * seen.workload_rows_per_s):
            return "normal"
        if beyond > 0:
            return "behind"
        return "ahead" if self.waited or rows_wait(seen) else "normal"

    def _lagging(self, seen: FlowSeen) -> bool:
        """Return whether the lag is above a healthy one; False before a healthy lag is known."""
        deviation = self.lag_s.deviation
        if seen.lag_rows is None or seen.workload_rows_per_s is None or deviation is None or self.lag_s.count < FEWEST:
            return False
        usual_s = self.lag_s.mean + self.sigmas * deviation
        return seen.lag_rows > seen.workload_rows_per_s * max(usual_s, LAG_TOLERANCE_S)

    def _in_health(self, seen: FlowSeen, standing: Standing) -> RecoveryWatch:
        if standing == "behind" and max(self.keeping_up.readings, self.lag_s.count) >= FEWEST:
            since_s = seen.at_s if self.in_a_row == 0 or self.row_since_s is None else self.row_since_s
            if self.in_a_row + 1 < self.odd_readings:
                return replace(self, in_a_row=self.in_a_row + 1, row_since_s=since_s)
            return replace(self.disturbed(since_s, UNANNOUNCED), shown=True)
        lag_s = self.lag_s
        if seen.lag_rows is not None and seen.workload_rows_per_s:
            lag_s = lag_s.with_value(seen.lag_rows / seen.workload_rows_per_s)
        return replace(self, keeping_up=self.keeping_up.learn([seen]), lag_s=lag_s, in_a_row=0, row_since_s=None)

    def _still_behind(self, seen: FlowSeen) -> RecoveryWatch:
        first = self.open[0]
        if all(each.kind == UNANNOUNCED for each in self.open) and seen.at_s - first.at_s > self.abandoned_after_s:
            return replace(self.undisturbed(), keeping_up=KeepingUp(), lag_s=Running())
        return replace(self, shown=True, in_a_row=0, row_since_s=None)

    def _back(self, seen: FlowSeen) -> tuple[RecoveryWatch, tuple[RecoveryMeasured, ...]]:
        since_s = seen.at_s if self.in_a_row == 0 or self.row_since_s is None else self.row_since_s
        going_on = replace(self, in_a_row=self.in_a_row + 1, row_since_s=since_s)
        visible = self.shown or seen.at_s - self.open[-1].at_s >= self.visible_within_s
        if going_on.in_a_row < self.normal_readings or not visible:
            return going_on, ()
        alone = len(self.open) == 1
        measured = tuple(
            RecoveryMeasured(kind=each.kind, started_s=each.at_s, recovered_s=max(since_s, each.at_s), alone=alone, cause=each.cause) for each in self.open
        )
        return self.undisturbed(), measured


def rows_wait(seen: FlowSeen) -> bool:
    """Return whether the lag is more than `LAG_TOLERANCE_S`; True where it is unknown.

    >>> [rows_wait(FlowSeen(at_s=0.0, workload_rows_per_s=100.0, throughput_rows_per_s=90.0, lag_rows=lag)) for lag in (99.0, 101.0, None)]
    [False, True, True]
    """
    return seen.lag_rows is None or seen.workload_rows_per_s is None or seen.lag_rows > LAG_TOLERANCE_S * seen.workload_rows_per_s
