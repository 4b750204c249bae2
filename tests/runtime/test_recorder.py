"""Which Penstock this is: its version, and a digest that changes with the decision core and with nothing else."""

from __future__ import annotations

from pathlib import Path

import penstock
from penstock.runtime.recorder import digest, this_penstock


def package(folder: Path, **sources: str) -> Path:
    for name, text in sources.items():
        file = folder / f"{name.replace('__', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def test_it_is_found_once_and_is_that_of_the_sources() -> None:
    core = Path(penstock.__file__).parent / "core"
    assert this_penstock() is this_penstock()
    assert (this_penstock().version, this_penstock().core) == (penstock.__version__, digest(core))


def test_the_digest_changes_with_a_byte_a_place_and_a_file_more(tmp_path: Path) -> None:
    found = [
        digest(package(tmp_path / "a", loop="x = 1", plan__guard="y = 2")),
        digest(package(tmp_path / "b", loop="x = 2", plan__guard="y = 2")),
        digest(package(tmp_path / "c", loop="x = 1", guard="y = 2")),
        digest(package(tmp_path / "d", loop="x = 1", plan__guard="y = 2", plan__more="")),
    ]
    assert len({*found}) == 4 and None not in found


def test_the_digest_is_the_same_elsewhere_and_whatever_python_compiled(tmp_path: Path) -> None:
    first, second = (package(tmp_path / name, loop="x = 1", plan__guard="y = 2") for name in ("here", "there"))
    (second / "__pycache__").mkdir()
    (second / "__pycache__/loop.cpython-311.pyc").write_bytes(b"compiled")
    assert digest(first) == digest(second)


def test_without_sources_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "loop.pyc").write_bytes(b"compiled")
    assert digest(tmp_path) is None
