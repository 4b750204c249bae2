from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from changes import scaled_to
from histories import opened

from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.decision import Candidate, Comparison, Decision
from penstock.core.domain.events.autopilot_events import Decided, Graded
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.run_events import RunStarted
from penstock.core.domain.fault import Fault
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.prediction import Prediction
from penstock.core.domain.reading import Quantiles, Reading
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.terms import Terms
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.redaction import Redactor
from penstock.ports import Source
from penstock.runtime.controller import Controller
from penstock.runtime.fakes import blank_reading
from penstock.runtime.fitter import InlineFitter
from penstock.simulator.continuous import ContinuousEngine
from penstock.simulator.engine_settings import ContinuousSettings
from penstock.simulator.load import Load
from penstock.simulator.plant import SimulatedClock, SimulatedPlant
from penstock.stores.history import History
from penstock.stores.recorder import this_penstock

START_S = 1_760_000_000.0
READING_S = 15.0
TOO_FEW = Comparison(code="capacity_below_load", value=1990.0, limit=2500.0)
WEIGHED = (
    Candidate(configuration=scaled_to(2), capacity_rows_per_s=1990.0, recovery_s=float("inf"), refused=TOO_FEW),
    Candidate(configuration=scaled_to(3), capacity_rows_per_s=2980.0, recovery_s=125.0, latency_s=1.2),
)
MADE: dict[str, Any] = {"decision": 2, "made_s": START_S + 60, "configuration": scaled_to(3)}
FORECAST = Prediction(id="decision 2.1", kind="forecast", value=2600.0, low=2300.0, high=2900.0, due_s=START_S + 120, about="60 s", **MADE)
CAPACITY = Prediction(id="decision 2.2", kind="capacity", value=2980.0, low=2800.0, high=3100.0, expires_s=START_S + 960, **MADE)
LATER = Prediction(id="decision 2.3", kind="forecast", value=2700.0, low=2300.0, high=3100.0, due_s=START_S + 960, about="900 s", **MADE)


def written(path: Path, events: Iterable[Event] = (), readings: Iterable[Reading] = (), knowledge: Knowledge | None = None) -> Path:
    with opened(path) as history:
        both: list[Event | Reading] = [*events, *readings]
        for each in sorted(both, key=lambda each: each.at_s):
            what: dict[str, Any] = {"reading": each} if isinstance(each, Reading) else {"events": [each]}
            history.append(each.at_s, **what)
        if knowledge is not None:
            history.save(knowledge)
    return path


def started(mode: str = "shadow", after_s: float = 0.0) -> RunStarted:
    return RunStarted(at_s=START_S + after_s, job="orders", master="local", mode=mode, spark_version="4.3", resumed=False, latency_p95_s=2.0)


def reading(after_s: float, **known: Any) -> Reading:
    usual = {"executors_running": 4, "executors_requested": 4, "arrival_rows_per_s": 2500.0, "throughput_rows_per_s": 2500.0, "excess_lag_rows": 0.0}
    return blank_reading(START_S + after_s, latency=Quantiles(p50_s=0.5, p95_s=1.1, p99_s=1.5), busyness=0.62, **{**usual, **known})


def decided(after_s: float, wanted: int = 3, current: int = 4, effect: Any = "shadow", mode: Any = "shadow", **more: Any) -> Decided:
    why = Comparison(code="smallest_that_holds") if wanted != current else Comparison(code="not_ready")
    weighed = () if wanted == current else WEIGHED
    decision = Decision(policy="daedalus", configuration=scaled_to(wanted), current=scaled_to(current), why=why, candidates=weighed)
    seen: dict[str, Any] = {"load_rows_per_s": 2500.0, "peak_rows_per_s": 2750.0, "capacity_rows_per_s": 2980.0}
    seen |= {"id": round(after_s / 60) + 1, "at_s": START_S + after_s, "mode": mode}
    return Decided(**{"policy": "auto:daedalus", "decision": decision, "effect": effect, **seen, **more})


def graded(made: Prediction, after_s: float, actual: float) -> Graded:
    same: dict[str, Any] = {each: getattr(made, each) for each in ("kind", "about", "made_s", "low", "high", "configuration")}
    return Graded(at_s=START_S + after_s, prediction=made.id, decision_id=made.decision, predicted=made.value, actual=actual, **same)


def shadow_history(path: Path, more: Sequence[Event] = ()) -> Path:
    """Ten minutes in shadow: one decision to go down a minute after the start, graded in part, and one a minute that keeps."""
    change = decided(60.0, others=(FORECAST, CAPACITY, LATER))
    keeps = [decided(60.0 * minute, 3, 3, effect="kept") for minute in range(2, 11)]
    events = [started(), decided(0.0, 4, 4, effect="kept"), change, graded(FORECAST, 125.0, 2500.0), *keeps, *more]
    return written(path, events, [reading(15.0 * number) for number in range(41)])


class Seen:
    """A source whose readings are seen in another way."""

    def __init__(self, source: Source, seen: Callable[[Reading], Reading]) -> None:
        self._source, self._seen = source, seen

    def read(self) -> Reading:
        return self._seen(self._source.read())


def simulated(
    path: Path, policy: str = "daedalus", minutes: int = 30, mode: Any = "shadow", seen: Callable[[Reading], Reading] = lambda reading: reading,
    failures_s: Sequence[float] = (), **autopilot: Any,
) -> Path:  # fmt: skip
    """The history of a continuous job with eight workers of 1,000 rows/s, of which its load needs three to five; its readings are as they are `seen`.

    Slow fits are done where something fails, as recoveries need them.
    """
    config = Config(reading_interval_s=READING_S, reading_window_s=READING_S)
    terms = Terms(
        limits=Limits(max_executors=8),
        promises=Promises(latency_p95_s=30.0, recovery_s=600.0),
        config=config,
        autopilot=Autopilot(mode=mode, policy=policy, downtime_s=20.0, **autopilot),
    )
    end_s = START_S + 60.0 * minutes
    load = Arrivals.through([START_S, (START_S + end_s) / 2, end_s], [2500.0, 4500.0, 2500.0])
    clock = SimulatedClock(START_S)
    settings = ContinuousSettings(capacity_rows_per_s=1000.0, downtime_s=20.0)
    faults = tuple(Fault(at_s=START_S + at_s) for at_s in failures_s)
    plant = SimulatedPlant(ContinuousEngine(settings, Load.of(load, START_S), executors=8, faults=faults), clock, config)
    with History.open(path, config=config, redactor=Redactor(), recorder=this_penstock()) as history:
        controller = Controller(
            source=Seen(plant, seen), actuator=plant, memory=history, clock=clock, terms=terms, declared=scaled_to(8),
            fitter=InlineFitter() if failures_s else None,
        )  # fmt: skip
        controller.note([started(mode)])
        while clock.now_s() < end_s:
            clock.wait(READING_S)
            plant.advance()
            controller.step()
        controller.close()
    return path
