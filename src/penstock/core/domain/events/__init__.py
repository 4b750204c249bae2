"""What happened: one frozen class an event, numbers inside, words made last.

All modules come with the package, so that every kind is known by its name.
"""

from penstock.core.domain.events import autopilot_events, executor_events, memory_events, query_events, run_events, source_events, steering_events

__all__ = ["autopilot_events", "executor_events", "memory_events", "query_events", "run_events", "source_events", "steering_events"]
