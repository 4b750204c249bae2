import subprocess
import sys

import pytest

DRIVERS = ("scipy", "sklearn", "statsforecast", "pydantic", "rich", "typer", "psutil", "confluent_kafka", "prometheus_client", "matplotlib")
EXECUTOR = f"""
import sys
sys.modules.update(dict.fromkeys({DRIVERS}))  # as if they were not installed
import penstock.spark.sink, penstock.spark.trace_source, penstock.trace.rows
"""


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        ("penstock.cli.simulate", ("pyspark", "py4j", "pyarrow", "matplotlib", "pandas", "statsforecast")),
        ("penstock.cli.audit, penstock.hindsight.audit", ("pyspark", "py4j")),
    ],
)
def test_simulating_and_auditing_need_no_spark_and_nothing_that_is_slow_to_load(modules: str, heavy: tuple[str, ...]) -> None:
    asked = f"import sys, {modules}; sys.exit(any(name in sys.modules for name in {heavy}))"
    assert subprocess.run([sys.executable, "-c", asked], check=False, timeout=120).returncode == 0


def test_what_an_executor_imports_needs_nothing_that_only_a_driver_has() -> None:
    done = subprocess.run([sys.executable, "-c", EXECUTOR], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
