"""A comparison that takes seconds: half an hour of a wave on up to four executors, with a failure in the middle."""

from penstock.bench.comparisons import Comparison, Workload, spark_job
from penstock.bench.loads import load_of
from penstock.core.domain.fault import Fault
from penstock.core.domain.job_spec import Limits, Promises

LASTS_S = 1800.0


def short(repetitions: int = 2) -> Comparison:
    workload = Workload(
        name="wave",
        engine=spark_job(4000.0, 4, trigger_s=5.0, overhead_s=0.5, noise=0.05),
        loads=tuple(load_of("two_sines", 4000.0, seed, LASTS_S) for seed in range(repetitions)),
        limits=Limits(max_executors=4),
        promises=Promises(latency_p95_s=12.0, recovery_s=120.0),
        faults=(Fault(at_s=LASTS_S / 2),),
        policies=("static(4)", "hpa(80)", "daedalus"),
        published=("daedalus", "wordcount"),
    )
    return Comparison(name="short", says="Half an hour of a wave.", workloads=(workload,))
