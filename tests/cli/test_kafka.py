import tempfile
from pathlib import Path

import pytest

from penstock.cli.kafka import place_of
from penstock.core.errors import UserMistake


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_of_its_own_goes_also_after_a_mistake_and_one_that_was_given_stays(temporary: Path) -> None:
    with pytest.raises(UserMistake), place_of(None, "penstock-feed-") as place:
        (place / "mark.json").write_text("{}")
        raise UserMistake("nobody answers")
    assert not list(temporary.iterdir())
    with place_of(temporary / "a" / "b", "penstock-feed-") as place:
        (place / "mark.json").write_text("{}")
    assert (temporary / "a" / "b" / "mark.json").exists()
