import numpy as np
import pytest
from matplotlib.figure import Figure

from penstock.core.config import EVEN
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.knowledge.terms import Terms
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.dashboard.simulation_charts import latency, load
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.wiring.setup import Setup
from penstock.wiring.simulation import Simulated, simulate


@pytest.fixture(scope="module")
def overloaded() -> Simulated:
    """One executor for twice what it carries: batches take minutes."""
    terms = Terms(limits=Limits(max_executors=1), promises=Promises(latency_p95_s=12.0), config=EVEN, autopilot=Autopilot(mode="active", policy="static"))
    arrivals = Arrivals.through((0.0, 300.0, 360.0, 1800.0), (2000.0, 2000.0, 9000.0, 9000.0))
    return simulate(Setup(load=arrivals, engine=MicroBatchSettings(row_s=0.0002), terms=terms))


def test_the_latency_of_an_overload_is_one_line_though_batches_take_minutes(overloaded: Simulated) -> None:
    axes = Figure().subplots()
    latency(axes, [overloaded])
    (line,) = [each for each in axes.get_lines() if each.get_label() == "worst second"]
    _, values = np.asarray(line.get_data(), dtype=float)
    assert np.isfinite(values).all() and values.max() > 100.0 and values.min() < 10.0
    labels = [label.get_text() for which in ("major", "minor") for label in axes.get_yticklabels(which=which)]
    assert not any("$" in label for label in labels)


def test_what_was_processed_is_spread_over_the_batch_and_not_a_spike_at_its_end(overloaded: Simulated) -> None:
    axes = Figure().subplots()
    load(axes, [overloaded])
    (line,) = [each for each in axes.get_lines() if each.get_label() == "processed"]
    _, values = np.asarray(line.get_data(), dtype=float)
    assert np.nanmax(values) < 6000.0, "one executor carries 5,000 rows/s"
    assert not any(each.get_label() == "estimated capacity" for each in axes.get_lines()), "static judges none"
