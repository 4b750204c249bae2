"""Reason codes and their words: the only place where a code becomes text."""

from collections.abc import Mapping

UNREADY = ("not_ready", "cpu_unknown")
"""Codes of "nothing can be decided yet"."""

POLICIES_SAY: Mapping[str, str] = {
    "as_declared": "the number of executors that was declared",
    "backlogged_tasks": "{value} tasks wait for {limit} slots",
    "between_decisions": "the policy decides later",
    "capacity_below_load": "it carries {value} rows/s, {limit} arrive",
    "capacity_below_peak": "it carries {value} rows/s, {limit} are forecast",
    "capacity_below_peak_until_recovered": "it carries {value} rows/s, {limit} are forecast until it has recovered",
    "change_under_way": "{value} executors run, {limit} were asked for",
    "cpu_unknown": "tasks run all the time, and the CPU of no executor is known",
    "cheapest_ahead": "the lowest mean cost until the next change, {value} executors",
    "dearer": "it would cost {value} executors until the next change, {limit} suffice",
    "executors_starting": "utilisation {value}, {limit} with the executors that are not ready",
    "idle_executors": "{value} executors idle for {limit} s",
    "lag_above_backlog": "{value} rows wait; while more than {limit} do it does not scale down",
    "lag_above_capacity": "{limit} rows wait, the capacity is {value} rows/s",
    "latency_above_limit": "latency is {value} s, {limit} s are allowed",
    "latency_invalid": "it does not keep up with {limit} rows/s",
    "no_backlog": "tasks wait {value} s for a slot, {limit} s are allowed",
    "no_new_batch": "no batch was committed since the last decision",
    "no_trigger_interval": "there is no trigger interval to compare with",
    "none_passes": "none is known to hold: the most are taken",
    "not_ready": "not enough is known yet",
    "occupation_high": "batches take {value} of their trigger interval, {limit} is allowed",
    "occupation_low": "batches take {value} of their trigger interval, less than {limit}",
    "occupation_suits": "batches take {value} of their trigger interval, at most {limit} is allowed",
    "plant_rescales_live": "this plant rescales without a restart",
    "policy_paused": "the policy is paused",
    "recently_rescaled": "rescaled {value} s ago and sufficient: fewer executors are not tried within {limit} s",
    "recovery_above_target": "recovery would take {value} s, {limit} s are allowed",
    "smallest_that_holds": "the fewest executors that hold",
    "stabilised": "{value} was recommended within the window, {limit} now",
    "tasks_run_always": "tasks of this mode run all the time",
    "tasks_too_few": "{value} wanted, the tasks of a batch fill {limit}",
    "too_soon": "{value} s since the last change, {limit} s must pass",
    "unknown_capacity": "its capacity is not known yet",
    "uptime_below_period": "up for {value} s, {limit} s are needed",
    "utilization_above_target": "utilisation {value}, the target is {limit}",
    "utilization_below_target": "utilisation {value}, the target is {limit}",
    "within_boundary": "utilisation {value} is within {limit} of the target",
    "within_tolerance": "utilisation {value} is near its target {limit}",
}
GUARDS_SAY: Mapping[str, str] = {
    "calendar": "{value} wanted, the calendar asks for {limit}",
    "cold": "{value} wanted by utilisation, but fewer than {limit} batches have run since the start",
    "hours": "{value} wanted, changes are not allowed at this hour",
    "ineffective": "{value} wanted, more than {limit} had no effect",
    "lag_unknown": "{value} wanted, but nothing scales down from {limit} before a batch is committed and the lag is known",
    "latency": "{value} s predicted, {limit} s promised",
    "limits": "{value} wanted, {limit} allowed",
    "only": "{value} wanted, from {limit} only changes in the other direction are allowed",
    "quota": "{value} wanted, the quota is {limit}",
    "rejected": "{value} wanted, an operator rejected it; it is not proposed again for {limit} s",
    "slower_down": "{value} wanted, {limit} was needed within the window",
    "step": "{value} wanted, {limit} at once are allowed",
}
BOTTLENECKS_SAY: Mapping[str, str] = {
    "overhead": "{value} s of a batch are overhead, {limit} s are work",
    "partitions": "{value} tasks for {limit} slots",
    "rate_limit": "the query may take {value} rows/s, {limit} arrive",
    "sink": "{value} of the time goes to the last stage or the sink, {limit} is usual",
    "skew": "the busiest executor processes {value} rows/s, the mean is {limit}",
    "unknown_bottleneck": "throughput went from {limit} to {value} rows/s; the readings do not show why",
}
TARGETS_SAY: Mapping[str, str] = {
    "latency_below_overhead": "{limit} s are promised, a batch takes {value} s without any row",
    "latency_below_trigger": "{limit} s are promised, the trigger alone is {value} s",
    "peak_above_capacity": "{value} rows/s are forecast, the most executors carry {limit}",
    "recovery_below_downtime": "{limit} s are promised, the downtime alone is {value} s",
}
READINESS_SAYS: Mapping[str, str] = {
    "error_too_large": "off by {value} % on average, {limit} % are allowed",
    "more_breaks": "it would have broken {value} promises, what ran broke {limit}",
    "never_decided": "it never had enough data to decide",
    "nothing_proven": "no prediction that it decides by was graded as right",
    "shadow_too_short": "{value} h in shadow, {limit} h are needed",
    "too_few_grades": "{value} predictions graded, {limit} are needed",
}
REASONS: Mapping[str, str] = {**POLICIES_SAY, **GUARDS_SAY, **BOTTLENECKS_SAY, **TARGETS_SAY, **READINESS_SAYS}
"""By code; `{value}` and `{limit}` are the numbers compared."""
ENDLESS: Mapping[str, str] = {
    "latency": "the job would never catch up, {limit} s promised",
    "recovery_above_target": "the job would never catch up, {limit} s are allowed",
}
"""The same where the value is infinite."""
