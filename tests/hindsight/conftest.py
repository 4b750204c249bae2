"""One event log of a job of one query, and its audit, for all tests of audits."""

from dataclasses import replace

import pytest
from audits import STATIC, log_at
from event_logs import streaming_log, written

from penstock.eventlog.files import EventLog
from penstock.hindsight.audit import Audited, audit


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> EventLog:
    """Twenty minutes of 1,500 to 3,500 rows/s on six executors, of which two or three would do."""
    return log_at(written(tmp_path_factory.mktemp("logs") / "app-counts.zstd", streaming_log(length_s=1200.0), "zstd"))


@pytest.fixture(scope="session")
def audited(log: EventLog) -> Audited:
    return audit(log, replace(STATIC, policies=("static", "hpa")))
