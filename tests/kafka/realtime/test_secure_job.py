from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from secure_broker import MODULE, PASSWORD, STORE_PASSWORD

from penstock.runtime.home import JobFolder

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(1600)]

JOB = """
name = "secure"
master = "embedded"
limits = {{ max_executors = 1 }}
settings = {{ reading_interval_s = 2 }}
sources.said = {{ format = "kafka", subscribe = "said", startingOffsets = "earliest" }}
[kafka]
bootstrap = "{bootstrap}"
"security.protocol" = "SASL_SSL"
"sasl.mechanism" = "PLAIN"
"sasl.jaas.config" = "${{env:KAFKA_LOGIN}}"
"ssl.truststore.location" = "{trusted}"
"ssl.truststore.password" = "${{file:{trust}}}"
topics = {{ said = 2, heard = 1 }}
feeds.said = {{ rate = "constant(200)" }}
[queries.heard]
function = "job.py:heard"
trigger = {{ real_time = "5s" }}
output_mode = "update"
sink = {{ format = "kafka", topic = "heard" }}
"""
CODE = """
def heard(said):
    return said.selectExpr("cast(key as string) key", "cast(value as string) value")
"""


def test_a_job_through_tls_and_a_login_is_observed_as_any_other_and_shows_no_secret(
    java: dict[str, str], stores: Path, job_process: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_LOGIN", java["sasl.jaas.config"])
    trust = stores / "password"
    trust.write_text(STORE_PASSWORD)
    with job_process("secure", JOB.format(bootstrap=java["bootstrap.servers"], trusted=stores / "trust.jks", trust=trust), CODE) as job:
        job.wait_until(lambda: job.query("heard").get("latency") and (job.query("heard").get("lag_s") or 9) < 2, 150, "a flow that keeps up")
        query = job.query("heard")
        assert [each["name"] for each in query["source_partitions"]] == ["said-0", "said-1"]
        assert query["arrival_rows_per_s"] == pytest.approx(200, rel=0.2)
        assert job.stop() == 0
        folders = (job.folder, JobFolder("secure").path)
        secrets = [secret.encode() for secret in (PASSWORD, "Sesame", STORE_PASSWORD, MODULE)]
        written = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
        assert len(written) > 5 and [file for file in written if any(secret in file.read_bytes() for secret in secrets)] == []
