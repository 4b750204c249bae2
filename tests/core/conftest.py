from pathlib import Path

import pytest

HERE = Path(__file__).parent
SLOW = (
    "analyze",
    "models/anomaly",
    "models/capacity/test_batch_cost.py",
    "models/forecast",
    "models/latency",
    "models/recovery",
    "models/surrogate",
    "plan",
    "policies/test_properties.py",
    "test_loop_stories.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE) and item.path.relative_to(HERE).as_posix().startswith(SLOW):
            item.add_marker(pytest.mark.slow)
