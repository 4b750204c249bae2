import subprocess
import sys

DRIVERS = ("scipy", "sklearn", "statsforecast", "pydantic", "rich", "typer", "psutil", "confluent_kafka", "prometheus_client", "matplotlib")
EXECUTOR = f"""
import sys
sys.modules.update(dict.fromkeys({DRIVERS}))  # as if they were not installed
import penstock.spark.sink, penstock.spark.trace_source, penstock.trace.rows
"""


def test_what_an_executor_imports_needs_nothing_that_only_a_driver_has() -> None:
    done = subprocess.run([sys.executable, "-c", EXECUTOR], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
