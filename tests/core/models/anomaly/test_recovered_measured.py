"""Recoveries of a real job, as Daedalus recorded it around its rescalings.

The record has no lag, and the sum of workload minus throughput does not return after a restart (the restarted counters lose their first minute), so
the truth is read off the throughput: it drops, runs above the workload while it catches up, and has recovered when it is first back at it.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from penstock.core.models.anomaly.flow import FlowSeen
from penstock.core.models.anomaly.recovered import RecoveryMeasured, RecoveryWatch

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
        assert truth, name
        measured: list[RecoveryMeasured] = []
        recovery = RecoveryWatch()
        for reading in seen:
            if announced and any(reading.at_s == onset for onset, _ in truth):
                recovery = recovery.disturbed(reading.at_s, "rescale_up")
            recovery, more = recovery.read(reading)
            measured.extend(each for each in more if each.kind == "rescale_up" or not announced)
        assert len(measured) == len(truth), name
        for (onset, back), each in zip(truth, measured, strict=True):
            assert each.started_s == onset if announced else onset - 2 * AT_MOST_OFF_S <= each.started_s <= onset
            assert each.recovered_s == pytest.approx(back, abs=AT_MOST_OFF_S), f"{name} at {onset}"
        assert recovery.open == ()
