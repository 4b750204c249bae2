"""Spark's Kafka connector: resolved once, kept, and one line where it cannot be had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.core.errors import UserMistake
from penstock.spark.connector import CONNECTOR, given_connector, provide_connector
from penstock.spark.jars import Resolved, kept

pytestmark = pytest.mark.spark


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "penstock"


def offline(folder: Path) -> Resolved:
    raise AssertionError(f"nothing is to be resolved into {folder}")


def test_what_was_resolved_once_needs_no_network_the_second_time(empty_cache: Path) -> None:
    jar = empty_cache / "a.jar"

    def resolve(folder: Path) -> Resolved:
        jar.write_text("jar")
        return Resolved(coordinates=("g:a:1",), jars=(str(jar),))

    first = kept("some", resolve)
    assert kept("some", offline) == first
    jar.unlink()
    assert kept("some", resolve) == first and jar.exists(), "a jar that is gone is resolved again"


def test_a_version_that_does_not_exist_is_one_line(session: Any, empty_cache: Path) -> None:
    with pytest.raises(UserMistake, match=r"^kafka\.connector: org\.apache\.spark:.*:0\.0\.1: .*not found") as said:
        given_connector(session._jvm, [f"{CONNECTOR}:0.0.1"])
    assert "\n" not in str(said.value)


def test_a_jar_that_is_not_there_is_one_line(session: Any) -> None:
    with pytest.raises(UserMistake, match=r"^kafka\.connector: there is no file /nowhere/connector\.jar$"):
        given_connector(session._jvm, ["/nowhere/connector.jar"])


def test_jars_without_a_connector_are_refused(session: Any, tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "empty.jar", "w") as jar:
        jar.writestr("nothing.txt", "")
    with pytest.raises(UserMistake, match=r"empty\.jar holds no org\.apache\.spark\.sql\.kafka010\.KafkaSourceProvider; give jars of your own"):
        provide_connector(session._jvm, [str(tmp_path / "empty.jar")])
