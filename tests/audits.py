"""What audits in tests are asked for, and the log at a path."""

from pathlib import Path

from penstock.core.domain.job import Promises
from penstock.eventlog.files import EventLog, event_logs
from penstock.hindsight.audit import AuditAsked

STATIC = AuditAsked(policies=("static",), promises=Promises(latency_p95_s=9.0))


def log_at(path: Path) -> EventLog:
    (log,) = event_logs([path])
    return log
