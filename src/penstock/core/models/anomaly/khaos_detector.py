"""Khaos's detector: find anomalies of throughput and lag with online ARIMA models."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from penstock.core.domain.disturbance import UNANNOUNCED, Disturbance
from penstock.core.models.anomaly.keeping_up import FlowSeen
from penstock.core.models.anomaly.online_arima import OnlineArima
from penstock.core.models.anomaly.recovery_watch import RecoveryMeasured
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.score import Score, mape

TRAINING_S = 1000.0
"""Seconds of healthy running before readings are judged."""
NORMAL_READINGS = 10
"""Normal readings in a row that end an anomaly, at the first of them."""
KEPT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputAndLag:
    """Finds anomalies in the input throughput and the lag, read at a steady step (Khaos sec. III-C); `measured` holds the newest that have ended.

    A model that follows an outage soon expects it. So the models continue with their own predictions while an anomaly lasts; with `follow` they take the
    anomalous values, which is the plain reading of the paper.
    Throughput wanders with the workload and is differenced; a healthy lag returns to its level and is not.
    """

    throughput: OnlineArima = field(default_factory=OnlineArima)
    lag: OnlineArima = field(default_factory=lambda: OnlineArima(differences=0, least=1.0))
    training_s: float = TRAINING_S
    normal_readings: int = NORMAL_READINGS
    follow: bool = False
    first_s: float | None = None
    anomalous_since_s: float | None = None
    normal_in_a_row: int = 0
    normal_since_s: float | None = None
    measured: tuple[RecoveryMeasured, ...] = ()

    def learn(self, seen: Sequence[FlowSeen]) -> Self:
        detector = self
        for reading in seen:
            detector = detector._with_reading(reading)
        return detector

    def predict(self) -> Estimate | NotReady:
        """Predict the next throughput of a healthy job, in rows/s."""
        return self.throughput.predict()

    def _with_reading(self, seen: FlowSeen) -> Self:
        if self.first_s is None:
            return replace(self, first_s=seen.at_s)._with_reading(seen)
        trained = seen.at_s - self.first_s >= self.training_s
        unexpected = self._unexpected(seen) if trained else False
        if self.anomalous_since_s is not None:
            return self._still_anomalous(seen, unexpected)
        if unexpected:
            return replace(self, anomalous_since_s=seen.at_s, normal_in_a_row=0)._passed(seen)
        return replace(self, throughput=self.throughput.learn([seen.throughput_rows_per_s]), lag=self.lag.learn([seen.lag_rows]))

    def _still_anomalous(self, seen: FlowSeen, unexpected: bool | None) -> Self:
        passed = self._passed(seen)
        if unexpected is None:
            return passed
        if unexpected:
            return replace(passed, normal_in_a_row=0)
        since_s = seen.at_s if self.normal_in_a_row == 0 or self.normal_since_s is None else self.normal_since_s
        if self.normal_in_a_row + 1 < self.normal_readings or self.anomalous_since_s is None:
            return replace(passed, normal_in_a_row=self.normal_in_a_row + 1, normal_since_s=since_s)
        ended = RecoveryMeasured(kind=UNANNOUNCED, started_s=self.anomalous_since_s, recovered_s=since_s)
        return replace(
            self,
            throughput=self.throughput.resumed(),
            lag=self.lag.resumed(),
            anomalous_since_s=None,
            normal_in_a_row=0,
            normal_since_s=None,
            measured=(*self.measured, ended)[-KEPT:],
        )

    def _unexpected(self, seen: FlowSeen) -> bool | None:
        """Return whether throughput or lag is unexpected; None where neither is known."""
        judged = [model.unexpected(value) for model, value in ((self.throughput, seen.throughput_rows_per_s), (self.lag, seen.lag_rows)) if value is not None]
        known = [each for each in judged if each is not None]
        return any(known) if known else None

    def _passed(self, seen: FlowSeen) -> Self:
        """Advance both models by a reading without learning from it."""

        def gone_by(model: OnlineArima, value: float | None) -> OnlineArima:
            return model.followed(value) if self.follow and value is not None else model.without_value()

        return replace(self, throughput=gone_by(self.throughput, seen.throughput_rows_per_s), lag=gone_by(self.lag, seen.lag_rows))


def named(measured: RecoveryMeasured, known: Sequence[Disturbance], within_s: float) -> RecoveryMeasured:
    """Attribute an unannounced recovery to the known disturbance that struck within `within_s` of its beginning.

    Without one it stays unannounced, as it may have been an overload; where others struck before its end, it is not alone.

    >>> seen = RecoveryMeasured(kind="unannounced", started_s=103.0, recovered_s=190.0)
    >>> named(seen, [Disturbance(kind="executor_loss", at_s=100.0)], within_s=15.0)
    RecoveryMeasured(kind='executor_loss', started_s=100.0, recovered_s=190.0, alone=True, cause='')
    >>> named(seen, [Disturbance(kind="executor_loss", at_s=150.0)], within_s=15.0)
    RecoveryMeasured(kind='unannounced', started_s=103.0, recovered_s=190.0, alone=False, cause='')
    """
    if measured.kind != UNANNOUNCED:
        return measured
    struck = [each for each in known if measured.started_s - within_s <= each.at_s < measured.recovered_s]
    cause = next((each for each in struck if each.at_s <= measured.started_s + within_s), None)
    if cause is None:
        return replace(measured, alone=measured.alone and not struck)
    return replace(measured, kind=cause.kind, started_s=cause.at_s, alone=measured.alone and len(struck) == 1)


FEWEST = 2
"""Recoveries needed for a score, which compares with the mean of the others."""


def score_detected(true: Sequence[RecoveryMeasured], found: Sequence[RecoveryMeasured], plain: Sequence[RecoveryMeasured]) -> Score | NotReady:
    """Return the errors of the recoveries found, compared with the mean of all others and with those of the paper's plain detector.

    Each true recovery is compared with the longest found that overlaps with it; one that was not found counts as an error of 100 %.

    >>> true = [RecoveryMeasured(kind="executor_loss", started_s=at_s, recovered_s=at_s + 100.0) for at_s in (0.0, 1000.0)]
    >>> found = [RecoveryMeasured(kind="unannounced", started_s=4.0, recovered_s=94.0)]
    >>> score_detected(true, found, plain=[])
    Score(mape=0.55, constant_mape=0.0, paper_mape=1.0, held_out=2, never=1)
    """
    if len(true) < FEWEST:
        return NotReady(why=f"{len(true)} recoveries are known, {FEWEST} are needed")
    took_s = [each.recovery_s for each in true]
    others_s = [(sum(took_s) - each) / (len(took_s) - 1) for each in took_s]
    measured_s = [_longest_s(each, found) for each in true]
    return Score(
        mape=mape([each or 0.0 for each in measured_s], took_s),
        constant_mape=mape(others_s, took_s),
        paper_mape=mape([_longest_s(each, plain) or 0.0 for each in true], took_s),
        held_out=len(true),
        never=sum(each is None for each in measured_s),
    )


def _longest_s(true: RecoveryMeasured, found: Sequence[RecoveryMeasured]) -> float | None:
    within = (each for each in found if each.started_s < true.recovered_s and each.recovered_s > true.started_s)
    return max((each.recovery_s for each in within), default=None)
