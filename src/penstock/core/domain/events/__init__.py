"""Events: one frozen class for each, with numbers inside; text is rendered last.

The package imports all its modules, so that each class is found by its name.
"""

from penstock.core.domain.events import autopilot_events, executor_events, memory_events, query_events, run_events, source_events, steering_events

__all__ = ["autopilot_events", "executor_events", "memory_events", "query_events", "run_events", "source_events", "steering_events"]
