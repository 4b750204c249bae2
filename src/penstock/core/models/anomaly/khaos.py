"""Khaos's detector: how long throughput or lag were not what an online ARIMA expects of a healthy job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from penstock.core.models.anomaly.disturbance import UNANNOUNCED
from penstock.core.models.anomaly.flow import FlowSeen
from penstock.core.models.anomaly.online_arima import OnlineArima
from penstock.core.models.anomaly.recovered import RecoveryMeasured
from penstock.core.models.estimate import Estimate, NotReady

TRAINING_S = 1000.0
"""Healthy running before anything is judged."""
NORMAL_READINGS = 10
"""Normal readings in a row that end an anomaly; it ended at the first of them."""
KEPT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputAndLag:
    """Anomalies of a job from its input throughput and its lag, read at a steady step (Khaos sec. III-C); `measured` holds the newest that have ended.

    An outage looks as steady as health to a model that follows it: ten seconds of nothing, and nothing is what it expects. So the models go on with
    their own expectations while an anomaly lasts; `follow` lets them take the anomalous values as given, which is the plain reading of the paper.
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

    def learn(self, seen: Sequence[FlowSeen]) -> ThroughputAndLag:
        detector = self
        for reading in seen:
            detector = detector._with_reading(reading)
        return detector

    def predict(self) -> Estimate | NotReady:
        """The throughput that a healthy job would show next, in rows/s."""
        return self.throughput.predict()

    def _with_reading(self, seen: FlowSeen) -> ThroughputAndLag:
        if self.first_s is None:
            return replace(self, first_s=seen.at_s)._with_reading(seen)
        trained = seen.at_s - self.first_s >= self.training_s
        unexpected = self._unexpected(seen) if trained else False
        if self.anomalous_since_s is not None:
            return self._still_anomalous(seen, unexpected)
        if unexpected:
            return replace(self, anomalous_since_s=seen.at_s, normal_in_a_row=0)._passed(seen)
        return replace(self, throughput=self.throughput.learn([seen.throughput_rows_per_s]), lag=self.lag.learn([seen.lag_rows]))

    def _still_anomalous(self, seen: FlowSeen, unexpected: bool | None) -> ThroughputAndLag:
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
        """Whether any of the two is unexpected; None where neither is known."""
        judged = [model.unexpected(value) for model, value in ((self.throughput, seen.throughput_rows_per_s), (self.lag, seen.lag_rows)) if value is not None]
        known = [each for each in judged if each is not None]
        return any(known) if known else None

    def _passed(self, seen: FlowSeen) -> ThroughputAndLag:
        """The reading gone by without being learnt from."""

        def gone_by(model: OnlineArima, value: float | None) -> OnlineArima:
            return model.followed(value) if self.follow and value is not None else model.without_value()

        return replace(self, throughput=gone_by(self.throughput, seen.throughput_rows_per_s), lag=gone_by(self.lag, seen.lag_rows))
