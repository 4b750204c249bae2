from pathlib import Path

import pytest
from jobfiles import CODE

from penstock.runtime.jobfile import load_job
from penstock.wiring.job_kafka import at_address, needs_broker

JOB = """
[sources.clicks]
format = "kafka"
"{option}" = "embedded"
subscribe = "clicks"
[queries.counted]
function = "job.py:counted"
sink = {{ format = "noop" }}
"""


@pytest.mark.parametrize("option", ["kafka.bootstrap.servers", "KAFKA.bootstrap.servers"])
def test_embedded_is_heard_in_whatever_letters_the_option_is_written(option: str, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB.format(option=option))
    (tmp_path / "job.py").write_text(CODE)
    spec = load_job(tmp_path / "job.toml").spec
    assert needs_broker(spec) and at_address(spec, "127.0.0.1:9092").sources[0].options[option] == "127.0.0.1:9092"
