"""Bring code to executors that do not have it: the user's files, and Penstock itself."""

from __future__ import annotations

import zipfile
from importlib.util import find_spec
from pathlib import Path

from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from penstock.core.errors import UserMistake


def ship_file(session: SparkSession, reference: str | None, folder: str) -> None:
    """Send the file of a `file.py:name` reference to the executors, so that functions in it can run there."""
    file = (reference or "").partition(":")[0]
    if not file.endswith(".py"):
        return
    path = (Path(folder) / file).resolve()
    try:
        session.sparkContext.addPyFile(str(path))
    except IllegalArgumentException:
        raise UserMistake(f"{path}: another file of that name was already sent to the executors; give one of them another name") from None


def pack_penstock(folder: Path) -> Path:
    """Penstock as an archive in `folder`, where it stays: executors that join later fetch it too."""
    found = find_spec("penstock")
    assert found is not None and found.origin is not None
    root = Path(found.origin).parent
    path = folder / "penstock.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(root.rglob("*.py")):
            archive.write(file, Path("penstock") / file.relative_to(root))
    return path


def ship_penstock(session: SparkSession, archive: Path) -> None:
    """Send Penstock to the executors, once a session: what runs there (sources, sinks) needs only the standard library, numpy, pyarrow and pyspark."""
    if not getattr(session, "_has_penstock", False):
        session.sparkContext.addPyFile(str(archive))
        session._has_penstock = True  # type: ignore[attr-defined]
