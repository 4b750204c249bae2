from collections.abc import Iterator
from pathlib import Path

import pytest
from histories import opened

from penstock.stores.history import History


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "history.db"


@pytest.fixture
def history(path: Path) -> Iterator[History]:
    with opened(path) as made:
        yield made
