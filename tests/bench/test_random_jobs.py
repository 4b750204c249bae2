import pytest

from penstock.bench.comparisons import Workload, evenness
from penstock.bench.random_jobs import LASTS_S, random_job, random_jobs
from penstock.core.policies.registry import labelled
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings

SEEDS = range(40)


@pytest.fixture(scope="module")
def jobs() -> list[Workload]:
    return [random_job(seed) for seed in SEEDS]


def test_a_seed_gives_the_same_job_and_another_one_another(jobs: list[Workload]) -> None:
    assert random_job(3) == jobs[3] and len({job.loads[0].rate_rows_per_s for job in jobs}) == len(jobs)


def test_half_of_the_jobs_change_their_executors_live(jobs: list[Workload]) -> None:
    assert all(isinstance(job.engine, MicroBatchSettings if seed % 2 == 0 else ContinuousSettings) for seed, job in enumerate(jobs))
    assert {job.name.split()[0] for job in jobs} == {"live", "stops"}


def test_the_most_executors_carry_the_peak_within_the_promise(jobs: list[Workload]) -> None:
    for job in jobs:
        peak, most, engine = max(job.loads[0].rate_rows_per_s), job.limits.max_executors, job.engine
        if isinstance(engine, MicroBatchSettings):
            capacity = engine.law.capacity_rows_per_s(most, engine.cadence(job.promises))
        else:
            assert isinstance(engine, ContinuousSettings)
            capacity = most * engine.capacity_rows_per_s * evenness(engine.skew, most)
        assert peak < capacity, job.name


def test_loads_last_two_hours_and_promises_can_be_kept(jobs: list[Workload]) -> None:
    for job in jobs:
        latency_s = job.promises.latency_p95_s
        assert job.loads[0].lasts_s == LASTS_S and latency_s is not None and len(job.faults) <= 2
        assert all(0 < fault.at_s < LASTS_S for fault in job.faults)
        assert latency_s > (2 * job.engine.interval_s if isinstance(job.engine, MicroBatchSettings) else getattr(job.engine, "base_s", 0.0))


def test_each_job_is_compared_with_its_largest_static_deployment(jobs: list[Workload]) -> None:
    assert all(labelled(job.policies[0]).parameters == {"executors": job.limits.max_executors} for job in jobs)
    comparison = random_jobs(4, 100)
    assert [each.name for each in comparison.workloads] == ["live 100", "stops 101", "live 102", "stops 103"] and comparison.summarised
