import csv
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conformance import DETECTS, World, conforming
from disturbed_plant import DisturbedPlant, watched
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.domain.disturbance import UNANNOUNCED, Disturbance, DisturbanceKind
from penstock.core.models.anomaly.keeping_up import FlowSeen
from penstock.core.models.anomaly.recovery_watch import RecoveryWatch
from penstock.stores.codec import decode, encode

LOSS: DisturbanceKind = "executor_loss"
UP: DisturbanceKind = "rescale_up"


def world(rng: random.Random) -> World:
    """An announced loss and what came before and after; the truth is the next healthy difference."""
    *seen, last = DisturbedPlant(seed=rng.randrange(10**6), step_s=5.0, outages=((300.0, 30.0),)).run(900.0)[0]
    return World(seen=[*seen[:60], Disturbance(kind=LOSS, at_s=300.0), *seen[60:]], truth=last.difference_rows_per_s)


TestConformance = conforming(empty=RecoveryWatch(), world=world, unscored=DETECTS)


@pytest.mark.parametrize("lag_known", [True, False])
@pytest.mark.parametrize("step_s", [1.0, 5.0, 15.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_recovery_is_when_the_backlog_is_gone(lag_known: bool, step_s: float, seed: int) -> None:
    seen, (end_s,) = DisturbedPlant(seed=seed, step_s=step_s, outages=((600.0, 60.0),)).run(1200.0)
    seen = seen if lag_known else [replace(each, lag_rows=None) for each in seen]
    recovery, (measured,) = watched(seen, {600.0: LOSS})
    assert (measured.kind, measured.started_s, measured.alone) == (LOSS, 600.0, True)
    assert measured.recovered_s == pytest.approx(end_s, abs=2 * step_s) and recovery.open == ()


@pytest.mark.parametrize("seed", range(3))
def test_an_unannounced_disturbance_is_detected(seed: int) -> None:
    seen, (end_s,) = DisturbedPlant(seed=seed, outages=((600.0, 60.0),)).run(1200.0)
    _, (measured,) = watched(seen)
    assert (measured.kind, measured.started_s, measured.recovered_s) == (UNANNOUNCED, pytest.approx(600.0, abs=1.0), pytest.approx(end_s, abs=3.0))


def test_two_disturbances_in_one_recovery_are_both_measured_and_neither_alone() -> None:
    seen, (end_s,) = DisturbedPlant(seed=1, outages=((600.0, 60.0), (700.0, 30.0))).run(1400.0)
    _, measured = watched(seen, {600.0: LOSS, 700.0: UP})
    assert [(each.kind, each.started_s, each.alone) for each in measured] == [(LOSS, 600.0, False), (UP, 700.0, False)]
    assert all(each.recovered_s == pytest.approx(end_s, abs=3.0) for each in measured)


def test_two_disturbances_with_a_recovery_between_are_each_alone() -> None:
    seen, ends = DisturbedPlant(seed=2, outages=((600.0, 30.0), (900.0, 30.0))).run(1400.0)
    _, measured = watched(seen, {600.0: LOSS, 900.0: LOSS})
    assert [each.alone for each in measured] == [True, True]
    assert [each.recovered_s for each in measured] == pytest.approx(ends, abs=3.0)


def test_a_job_that_never_recovers_stays_open() -> None:
    seen, _ = DisturbedPlant(seed=3, capacity=1010.0, outages=((600.0, 60.0),)).run(4000.0)
    recovery, measured = watched(seen, {600.0: LOSS})
    assert measured == [] and [(each.kind, each.at_s) for each in recovery.open] == [(LOSS, 600.0)]


def test_the_anomaly_does_not_teach_what_is_healthy() -> None:
    seen, _ = DisturbedPlant(seed=4, outages=((600.0, 300.0),)).run(850.0)
    before, _ = watched(seen[:600])
    after, _ = watched(seen[600:], {600.0: LOSS}, before)
    assert after.keeping_up.moments == before.keeping_up.moments and after.lag_s == before.lag_s


def test_missing_readings_neither_end_nor_prolong_a_recovery() -> None:
    seen, (end_s,) = DisturbedPlant(seed=5, outages=((600.0, 60.0),)).run(1200.0)
    unknown = dict.fromkeys(("workload_rows_per_s", "throughput_rows_per_s", "lag_rows"))
    holes = [replace(each, **unknown) if each.at_s % 3 == 1 or 605 <= each.at_s < 650 else each for each in seen]
    _, (measured,) = watched(holes, {600.0: LOSS})
    assert measured.recovered_s == pytest.approx(end_s, abs=4.0)


def test_a_lag_that_swings_with_the_batches_is_healthy() -> None:
    seen, (end_s,) = DisturbedPlant(seed=6, interval_s=10.0, outages=((600.0, 60.0),)).run(1200.0)
    _, (measured,) = watched(seen)
    assert (measured.kind, measured.recovered_s) == (UNANNOUNCED, pytest.approx(end_s, abs=10.0))


def test_a_rescaling_that_does_not_show_took_no_longer_than_a_reading() -> None:
    seen, _ = DisturbedPlant(seed=7, outages=()).run(900.0)
    _, (measured,) = watched(seen, {600.0: UP})
    assert measured.recovery_s <= 3.0


def late_throughput(at_s: float, lag_rows: float | None) -> FlowSeen:
    """A load that rises for two minutes and falls again; the throughput is that of six seconds ago, as where batches are averaged."""
    workload, before = (2000.0 - 10.0 * abs(each - 120.0) for each in (at_s, at_s - 6.0))
    return FlowSeen(at_s=at_s, workload_rows_per_s=workload, throughput_rows_per_s=before, lag_rows=lag_rows)


def test_a_throughput_above_a_falling_load_is_no_catching_up_where_nothing_waits() -> None:
    waits = {at_s: 5000.0 if 122.0 <= at_s < 130.0 else 0.0 for at_s in map(float, range(0, 220, 2))}
    _, measured = watched([late_throughput(at_s, lag_rows) for at_s, lag_rows in waits.items()], {120.0: UP})
    assert [(each.kind, each.recovery_s) for each in measured] == [(UP, pytest.approx(10.0, abs=4.0))]
    _, without_lag = watched([late_throughput(at_s, None) for at_s in waits], {120.0: UP})
    assert without_lag == [], "without a lag it looks like catching up"


def test_a_disturbance_may_show_late() -> None:
    seen, (end_s,) = DisturbedPlant(seed=8, outages=((640.0, 60.0),)).run(1200.0)
    _, (measured,) = watched(seen, {600.0: UP})
    assert measured.started_s == 600.0 and measured.recovered_s == pytest.approx(end_s, abs=3.0)


def test_a_new_normal_is_learnt_after_a_false_alarm_has_been_given_up() -> None:
    healthy, _ = DisturbedPlant(seed=9, step_s=5.0, outages=()).run(6000.0)
    changed = [replace(each, throughput_rows_per_s=(each.throughput_rows_per_s or 0.0) * (1.0 if each.at_s < 600 else 0.8), lag_rows=None) for each in healthy]
    recovery, measured = watched(changed)
    assert measured == [] and recovery.open == ()
    assert recovery.keeping_up.moments.mean_y == pytest.approx(200.0, abs=10.0)


def test_health_raises_no_alarm() -> None:
    for seed in range(3):
        recovery, measured = watched(DisturbedPlant(seed=seed, outages=()).run(2000.0)[0])
        assert measured == [] and recovery.open == ()


@settings(max_examples=20)
@given(st.integers(0, 899), st.integers(0, 10))
def test_its_state_goes_through_json_at_any_moment(cut: int, seed: int) -> None:
    seen, _ = DisturbedPlant(seed=seed, step_s=10.0, outages=((300.0, 60.0), (400.0, 20.0))).run(900.0)
    before, early = watched([each for each in seen if each.at_s < cut])
    again = decode(RecoveryWatch, encode(before))
    assert again == before
    after, late = watched([each for each in seen if each.at_s >= cut], start=again)
    assert (after, early + late) == watched(seen)


@pytest.mark.parametrize(
    ("late_s", "found"), [(0.0, [(LOSS, 600.0, True)]), (40.0, [(UNANNOUNCED, 600.0, False), (LOSS, 640.0, False)])], ids=["the same", "another one"]
)
def test_a_failure_that_is_counted_after_readings_have_shown_it_is_the_same_disturbance_unless_it_came_long_after(
    late_s: float, found: list[tuple[DisturbanceKind, float, bool]]
) -> None:
    """An executor is lost at 600 s; that is counted when readings have shown it for a while, as having struck `late_s` after it did."""
    seen, _ = DisturbedPlant(seed=3, outages=((600.0, 60.0),)).run(1200.0)
    counted = 600 + int(max(late_s, 10.0))
    shown, early = watched(seen[:counted])
    assert [each.kind for each in shown.open] == [UNANNOUNCED]
    _, measured = watched(seen[counted:], start=shown.disturbed(600.0 + late_s, LOSS, same_within_s=15.0))
    assert [(each.kind, pytest.approx(each.started_s, abs=1.0), each.alone) for each in early + measured] == found


RECORD = Path("/work/shared/data/daedalus_anomaly.csv")
BACK = 0.025
"""Share of the workload within which the throughput is back at it."""
CATCHES_UP_WITHIN_S = 300.0
AT_MOST_OFF_S = 30.0
pytestmark = pytest.mark.skipif(not RECORD.exists(), reason="the shared measurements are not here")


def recorded() -> dict[str, list[FlowSeen]]:
    seen: dict[str, list[FlowSeen]] = {}
    with RECORD.open() as file:
        for row in csv.DictReader(file):
            throughput = float(row["throughput"]) if row["throughput"] else None
            reading = FlowSeen(at_s=float(row["t_s"]), workload_rows_per_s=float(row["workload"]), throughput_rows_per_s=throughput)
            seen.setdefault(row["dataset"], []).append(reading)
    return seen


def rescalings(seen: list[FlowSeen]) -> list[tuple[float, float]]:
    """When the throughput dropped below half the workload, and when it was back at it after its peak; the metrics' delay is found by trying all."""
    table = np.array([(each.at_s, each.workload_rows_per_s, each.throughput_rows_per_s) for each in seen if each.throughput_rows_per_s is not None])
    times, workload, throughput = table.astype(float).T
    lead = min(range(-60, 61), key=lambda shift: float(np.median(np.abs(np.interp(times + shift, times, workload) - throughput))))
    aligned = np.interp(times + lead, times, workload)
    surplus = throughput / aligned - 1
    dropped = (surplus < -0.5) & (aligned > np.median(aligned) / 4)
    found = []
    for onset in np.flatnonzero(dropped & ~np.roll(dropped, 1)):
        after = np.flatnonzero((times >= times[onset]) & (times <= times[onset] + CATCHES_UP_WITHIN_S))
        peak = after[np.argmax(surplus[after])]
        back = next(index for index in range(peak, len(times)) if abs(surplus[index]) <= BACK)
        found.append((float(times[onset]), float(times[back])))
    return found


@pytest.mark.parametrize("announced", [True, False])
def test_every_recorded_rescaling_is_seen_and_its_recovery_found(announced: bool) -> None:
    for name, seen in recorded().items():
        truth = rescalings(seen)
        recovery, found = watched(seen, {onset: UP for onset, _ in truth} if announced else {})
        measured = [each for each in found if each.kind == UP or not announced]
        assert truth and len(measured) == len(truth) and recovery.open == (), name
        for (onset, back), each in zip(truth, measured, strict=True):
            assert each.started_s == onset if announced else onset - 2 * AT_MOST_OFF_S <= each.started_s <= onset
            assert each.recovered_s == pytest.approx(back, abs=AT_MOST_OFF_S), f"{name} at {onset}"
