import numpy as np
from hypothesis import strategies as st

from penstock.core.domain.cadence import Cadence
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.latency.batch_latency import latencies_by_law_s

LAWS = st.builds(
    BatchLaw, overhead_s=st.floats(0.0, 3.0), row_s=st.sampled_from([0.0, 1e-5, 0.0003, 0.02]), partitions=st.integers(1, 50),
    cores_per_executor=st.integers(1, 4), skew=st.floats(1.0, 3.0), limit_rows=st.none() | st.floats(1.0, 1e5),
)  # fmt: skip


def latency_by_law_s(law: BatchLaw, *, rate_rows_per_s: float, interval_s: float, executors: int, quantile: float | None = None) -> float:
    asked = {"rate_rows_per_s": rate_rows_per_s, "interval_s": interval_s, "executor_counts": np.array([executors]), "quantile": quantile}
    return float(latencies_by_law_s([law], **asked)[0, 0])  # type: ignore[arg-type]


def filling(interval_s: float) -> Cadence:
    """Return the cadence of batches that may take as long as their trigger interval."""
    return Cadence(interval_s=interval_s, longest_s=interval_s)
