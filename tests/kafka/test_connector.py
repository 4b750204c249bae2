import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark import SparkContext

from penstock.core.domain.events.meaning import is_routine
from penstock.core.domain.events.source_events import ConnectorFound
from penstock.core.errors import NotReachable, UserMistake
from penstock.spark import connector, session
from penstock.spark.connector import (
    CONNECTOR,
    TOKEN_PROVIDER,
    Resolved,
    Resolver,
    cache_folder,
    connector_words,
    given_connector,
    given_words,
    kept,
    new_jars,
    provide_connector,
    resolve_connector,
)

Repository = Callable[..., list[str]]


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "penstock"


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Repository:
    """Makes a repository that has these coordinates; what is asked of it is returned. A connector needs the token provider of its own version."""

    def make(*has: str) -> list[str]:
        asked: list[str] = []

        class FakeResolver(Resolver):
            def jars(self, coordinates: str, *, transitive: bool = True, without: Sequence[str] = ()) -> tuple[str, ...]:
                asked.append(coordinates)
                found = max((each for each in has if each.startswith(coordinates.removesuffix("+"))), default=None)
                needed = f"{TOKEN_PROVIDER}:{coordinates.rpartition(':')[2]}"
                if found is None or (coordinates.startswith(CONNECTOR) and TOKEN_PROVIDER not in without and needed not in has):
                    raise NotReachable(f"{coordinates}: not found")
                jar = tmp_path / f"{'_'.join(found.split(':')[:2])}-{found.rpartition(':')[2]}.jar"
                jar.touch()
                return (str(jar),)

        monkeypatch.setattr(connector, "Resolver", FakeResolver)
        return asked

    return make


def test_the_connector_of_this_spark_is_taken_where_it_is(repository: Repository) -> None:
    asked = repository(f"{CONNECTOR}:{pyspark.__version__}", f"{TOKEN_PROVIDER}:{pyspark.__version__}")
    assert connector_words(resolve_connector(None, Path())) == f"Kafka connector {pyspark.__version__}"
    assert asked == [f"{CONNECTOR}:{pyspark.__version__}", f"{TOKEN_PROVIDER}:{pyspark.__version__}"]


def test_else_the_nearest_older_one_with_a_token_provider_that_may_be_older_still(repository: Repository) -> None:
    repository(f"{CONNECTOR}:4.0.0", f"{CONNECTOR}:4.1.1", f"{TOKEN_PROVIDER}:4.0.0")
    found = resolve_connector(None, Path())
    assert found.coordinates == (f"{CONNECTOR}:4.1.1", f"{TOKEN_PROVIDER}:4.0.0") and len(found.jars) == 2
    assert connector_words(found).startswith(f"Kafka connector 4.1.1: there is none for Spark {pyspark.__version__}")


@pytest.mark.parametrize("has", [(), (f"{CONNECTOR}:4.1.1",)])
def test_where_nothing_can_be_had_one_line_says_what_to_do(has: tuple[str, ...], repository: Repository) -> None:
    repository(*has)
    with pytest.raises(UserMistake, match=r"^kafka: Spark's Kafka connector cannot be had \(.*not found\); see that a Maven repository .* give jars") as said:
        resolve_connector(None, Path())
    assert "\n" not in str(said.value)


def test_a_connector_that_is_given_needs_no_token_provider_of_its_own_version_and_one_that_is_given_is_used(repository: Repository) -> None:
    repository(f"{CONNECTOR}:4.1.1", f"{TOKEN_PROVIDER}:4.0.0")
    wanted = (f"{CONNECTOR}:4.1.1", f"{TOKEN_PROVIDER}:4.0.0")
    found = given_connector(None, wanted[:1])
    assert found.coordinates == wanted
    assert given_words(found) == f"Kafka connector, as given: {CONNECTOR}:4.1.1, {TOKEN_PROVIDER}:4.0.0"
    repository(*wanted, f"{TOKEN_PROVIDER}:4.1.1")
    assert given_connector(None, wanted).coordinates == wanted


def test_what_spark_brings_itself_is_left_out_of_the_connector() -> None:
    clients = "/ivy/org.apache.kafka_kafka-clients-3.9.2.jar"
    assert new_jars(["/ivy/org.slf4j_slf4j-api-9.9.9.jar", clients]) == (clients,)


def test_long_lists_that_begin_alike_are_kept_apart(repository: Repository) -> None:
    alike = [f"org.example.of.a.long.name:artifact-{number}:1.0" for number in range(9)]
    repository(*alike, "org.example:a:1", "org.example:b:1")
    first, second = (given_connector(None, [*alike, last]) for last in ("org.example:a:1", "org.example:b:1"))
    assert first.jars[:-1] == second.jars[:-1] and first.jars[-1] != second.jars[-1]


@pytest.mark.parametrize("torn", ["", '{"coordinates": ["g:a', "[]", '{"jars": null, "coordinates": []}'])
def test_a_note_that_cannot_be_read_is_made_anew(torn: str) -> None:
    cache_folder().mkdir(parents=True)
    note = cache_folder() / "some.json"
    note.write_text(torn)
    found = Resolved(coordinates=("g:a:1",), jars=())
    assert kept("some", lambda folder: found) == found
    assert json.loads(note.read_text()) == {"coordinates": ["g:a:1"], "jars": []}


def test_the_line_is_said_and_the_executors_get_the_jars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkContext, "_ensure_initialized", lambda: None)
    monkeypatch.setattr(session, "provide_connector", lambda jvm, given: (Resolved(coordinates=(), jars=("/b.jar",)), "Kafka connector 4.1.1"))
    said: list[str] = []
    assert session.with_connector((), "/a.jar", said.append) == {"spark.jars": "/a.jar,/b.jar"}
    event = ConnectorFound(at_s=0.0, line=said[0])
    assert event.words() == "Kafka connector 4.1.1" and not is_routine(event)


def test_what_was_resolved_once_needs_no_network_the_second_time(empty_cache: Path) -> None:
    jar = empty_cache / "a.jar"

    def resolve(folder: Path) -> Resolved:
        jar.write_text("jar")
        return Resolved(coordinates=("g:a:1",), jars=(str(jar),))

    first = kept("some", resolve)
    assert kept("some", lambda folder: pytest.fail(f"nothing is to be resolved into {folder}")) == first
    jar.unlink()
    assert kept("some", resolve) == first and jar.exists(), "a jar that is gone is resolved again"


@pytest.mark.spark
def test_a_version_that_does_not_exist_is_one_line(session: Any) -> None:
    with pytest.raises(UserMistake, match=r"^kafka\.connector: org\.apache\.spark:.*:0\.0\.1: .*not found") as said:
        given_connector(session._jvm, [f"{CONNECTOR}:0.0.1"])
    assert "\n" not in str(said.value)


@pytest.mark.spark
def test_a_jar_that_is_not_there_is_one_line(session: Any) -> None:
    with pytest.raises(UserMistake, match=r"^kafka\.connector: there is no file /nowhere/connector\.jar$"):
        given_connector(session._jvm, ["/nowhere/connector.jar"])


@pytest.mark.spark
def test_jars_without_a_connector_are_refused(session: Any, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "empty.jar", "w") as jar:
        jar.writestr("nothing.txt", "")
    with pytest.raises(UserMistake, match=r"empty\.jar holds no org\.apache\.spark\.sql\.kafka010\.KafkaSourceProvider; give jars of your own"):
        provide_connector(session._jvm, [str(tmp_path / "empty.jar")])
