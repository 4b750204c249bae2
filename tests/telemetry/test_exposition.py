import math
from dataclasses import fields, is_dataclass, replace
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import BatchParts, ExecutorReading, PartitionReading, Quantiles, QueryReading, Reading, StageReading
from penstock.core.domain.trigger import Trigger
from penstock.core.redaction import Redactor
from penstock.telemetry.exposition import AutopilotState, metrics_text


def samples(text: bytes) -> list[Sample]:
    return [sample for family in text_string_to_metric_families(text.decode()) for sample in family.samples]


def full_reading() -> Reading:
    """A reading in which everything is known and no two numbers are the same."""
    number = count(101)

    def n() -> int:
        return next(number)

    def quantiles() -> Quantiles:
        return Quantiles(p50_s=n(), p95_s=n(), p99_s=n())

    stage = StageReading(position=0, name="scan", tasks=n(), rows_per_s=n(), run_time_s_per_s=n(), busyness=n())
    executor = ExecutorReading(executor_id="7", host="node", slots=n(), uptime_s=n(), throughput_rows_per_s=n(), busyness=n(), cpu_cores=n())
    query = QueryReading(
        name="lookup", state="running", trigger=Trigger(interval_s=n()), rate_limit_rows_per_s=n(), kept_share=n(), batch_id=n(), batches=n(),
        batches_run=n(), since_commit_s=n(), uptime_s=n(), arrival_rows_per_s=n(), throughput_rows_per_s=n(), lag_rows=n(), lag_s=n(), excess_lag_rows=n(),
        latency=quantiles(), clock_skew_s=n(), batch=BatchParts(total_s=n(), parts_s={"addBatch": n(), "commit": n()}), busyness=n(), stages=(stage,),
        state_rows=n(), state_memory_bytes=n(), partitions=n(), failures=n(), in_batch_rows=n(), boundary_pause_s=n(), replayed_rows=n(), slots_held=n(),
        source_partitions=tuple(PartitionReading(name=name, arrival_rows_per_s=n(), lag_rows=n()) for name in ("clicks-0", "clicks-1")),
    )  # fmt: skip
    return Reading(
        at_s=n(), uptime_s=n(), since_disturbance_s=n(), executors_running=n(), executors_requested=n(), arrival_rows_per_s=n(), throughput_rows_per_s=n(),
        lag_rows=n(), lag_s=n(), excess_lag_rows=n(), latency=quantiles(), busyness=n(), failures=n(), executors=(executor,), queries=(query,),
    )  # fmt: skip


def bare_reading() -> Reading:
    return Reading(
        at_s=1000.0, uptime_s=5.0, since_disturbance_s=None, executors_running=1, executors_requested=1, arrival_rows_per_s=None, throughput_rows_per_s=None,
        lag_rows=None, lag_s=None, excess_lag_rows=None, latency=None, busyness=None, failures=0,
        executors=(ExecutorReading(executor_id="0", host="node", slots=1, uptime_s=4.0),),
        queries=(QueryReading(name="q", state="starting", trigger=Trigger(kind="available_now"), rate_limit_rows_per_s=None),),
    )  # fmt: skip


def numbers_in(value: object) -> list[float]:
    if isinstance(value, int | float):
        return [float(value)]
    if is_dataclass(value):
        return [n for each in fields(value) if each.name != "position" for n in numbers_in(getattr(value, each.name))]
    if isinstance(value, dict):
        return [n for each in value.values() for n in numbers_in(each)]
    if isinstance(value, tuple):
        return [n for each in value for n in numbers_in(each)]
    return []


def test_every_number_of_a_reading_is_exposed_exactly_once() -> None:
    reading = full_reading()
    exposed = [s.value for s in samples(metrics_text("demo", reading, {}, Promises())) if s.value > 100]
    assert sorted(exposed) == sorted(numbers_in(reading))


def test_metrics_have_a_help_text_a_type_and_our_prefix() -> None:
    text = metrics_text("demo", full_reading(), {"RunStarted": 1}, Promises(latency_p95_s=2), AUTOPILOT).decode()
    families = {each.name: each for each in text_string_to_metric_families(text)}
    assert len(families) > 40
    assert all(name.startswith("penstock_") and each.documentation and each.type in ("gauge", "counter") for name, each in families.items())
    assert families["penstock_query_replayed_rows"].type == "counter"
    assert families["penstock_query_boundary_pause_seconds"].type == families["penstock_query_in_batch_rows"].type == "gauge"
    for name in ("penstock_latency_seconds", "penstock_query_latency_seconds"):
        assert "from arrival to commit; in Real-Time Mode to the write at the sink" in families[name].documentation


def test_what_is_unknown_is_left_out() -> None:
    found = samples(metrics_text("demo", bare_reading(), {}, Promises()))
    names = {each.name for each in found}
    assert names >= {"penstock_executors_running", "penstock_query_failures_total", "penstock_executor_slots"}
    unknown = ("lag", "latency", "busyness", "arrival", "promised", "trigger", "in_batch", "pause", "partition")
    assert not any(word in name for word in unknown for name in names)
    assert all(math.isfinite(each.value) for each in found)


def test_before_the_first_reading_only_version_promises_and_events_are_there() -> None:
    found = samples(metrics_text("demo", None, {"QueryFailed": 2, "RunStarted": 1}, Promises(latency_p95_s=2.5, recovery_s=60)))
    assert {(each.name, each.labels.get("kind"), each.value) for each in found} == {
        ("penstock_build_info", None, 1.0),
        ("penstock_promised_latency_p95_seconds", None, 2.5),
        ("penstock_promised_recovery_seconds", None, 60.0),
        ("penstock_events_total", "QueryFailed", 2.0),
        ("penstock_events_total", "RunStarted", 1.0),
    }


AUTOPILOT = AutopilotState(mode="ask", target_executors=5, paused=False, proposal_open=True, errors={"recovery": 0.25, "capacity": 0.1})


def test_what_the_autopilot_is_at_is_exposed_before_the_first_reading_too() -> None:
    found = samples(metrics_text("demo", None, {}, Promises(), AUTOPILOT))
    assert {(each.name, each.labels.get("kind") or each.labels.get("mode"), each.value) for each in found if each.name != "penstock_build_info"} == {
        ("penstock_target_executors", None, 5.0),
        ("penstock_policy_paused", None, 0.0),
        ("penstock_proposal_open", None, 1.0),
        ("penstock_mode", "ask", 1.0),
        ("penstock_prediction_error", "capacity", 0.1),
        ("penstock_prediction_error", "recovery", 0.25),
    }
    assert all(each.labels["job"] == "demo" for each in found if each.name != "penstock_build_info")


def test_a_kind_of_prediction_that_was_never_graded_is_left_out() -> None:
    names = {each.name for each in samples(metrics_text("demo", None, {}, Promises(), replace(AUTOPILOT, errors={})))}
    assert "penstock_prediction_error" not in names and "penstock_mode" in names


def test_samples_are_labelled_by_job_query_stage_executor_and_quantile() -> None:
    found = {each.name: each for each in samples(metrics_text("demo", full_reading(), {}, Promises()))}
    assert found["penstock_query_latency_seconds"].labels == {"job": "demo", "query": "lookup", "quantile": "0.99"}
    assert found["penstock_query_partition_lag_rows"].labels == {"job": "demo", "query": "lookup", "partition": "clicks-1"}
    assert found["penstock_stage_tasks"].labels == {"job": "demo", "query": "lookup", "stage": "0"}
    assert found["penstock_executor_cpu_cores"].labels == {"job": "demo", "executor": "7"}
    assert found["penstock_query_state"].labels == {"job": "demo", "query": "lookup", "state": "running"}
    assert "version" in found["penstock_build_info"].labels


def test_what_a_partition_does_not_know_is_left_out_for_that_partition_alone() -> None:
    partitions = tuple(PartitionReading(name=f"clicks-{each}", arrival_rows_per_s=5.0, lag_rows=lag) for each, lag in enumerate((7.0, None)))
    reading = bare_reading()
    reading = replace(reading, queries=(replace(reading.queries[0], source_partitions=partitions),))
    found = [(each.name, each.labels["partition"], each.value) for each in samples(metrics_text("demo", reading, {}, Promises())) if "partition" in each.labels]
    assert found == [
        ("penstock_query_partition_arrival_rows_per_second", "clicks-0", 5.0),
        ("penstock_query_partition_arrival_rows_per_second", "clicks-1", 5.0),
        ("penstock_query_partition_lag_rows", "clicks-0", 7.0),
    ]


@settings(max_examples=30)
@given(st.text())
def test_any_name_of_a_job_survives_the_text_format(job: str) -> None:
    job = job.encode("utf-8", "ignore").decode()
    found = {each.name: each for each in samples(metrics_text(job, bare_reading(), {}, Promises()))}
    assert found["penstock_executors_running"].labels["job"] == job


def test_a_topic_whose_name_is_a_secret_is_masked_and_two_that_look_alike_then_stay_apart() -> None:
    secret = Redactor(frozenset({"clicks", "orders"}))
    query = full_reading().queries[0]
    partitions = tuple(
        PartitionReading(name=name, arrival_rows_per_s=None, lag_rows=rows) for name, rows in (("clicks-0", 1.0), ("clicks-1", 2.0), ("orders-0", 3.0))
    )
    reading = replace(full_reading(), queries=(replace(query, source_partitions=partitions),))
    text = metrics_text("demo", reading, {}, Promises(), redact=secret.text)
    assert b"clicks" not in text and b"orders" not in text
    lags = {each.labels["partition"]: each.value for each in samples(text) if each.name == "penstock_query_partition_lag_rows"}
    assert lags == {"***-0": 1.0, "***-1": 2.0, "***-0 (2)": 3.0}
