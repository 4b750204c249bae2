"""What happened: one frozen class an event, numbers inside, words made last.

All modules come with the package, so that every kind is known by its name.
"""

from penstock.core.domain.events import autopilot, executors, memory, queries, run, sources, steering

__all__ = ["autopilot", "executors", "memory", "queries", "run", "sources", "steering"]
