from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testbeds import Stage, continuous_stage, micro_batch_stage, spark_stage

STAGES: list[Any] = ["micro_batch", "continuous", pytest.param("spark", marks=pytest.mark.spark)]


@pytest.fixture(scope="module")
def on_spark(state_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage, testbed = spark_stage(tmp_path_factory.mktemp("original"))
    yield stage
    testbed.close()


@pytest.fixture(params=STAGES)
def stage(request: pytest.FixtureRequest) -> Stage:
    if request.param == "spark":
        made: Stage = request.getfixturevalue("on_spark")
        return made
    return micro_batch_stage() if request.param == "micro_batch" else continuous_stage()
