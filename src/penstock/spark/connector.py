"""The jars of Spark's Kafka connector and of a broker: those the user gives, else those that Spark has, else those that its resolver finds.

Resolved jars are cached, so that the next time needs no network.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway

from penstock.core.errors import NotReachable, UserMistake
from penstock.leases import FileLease

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
TOKEN_PROVIDER = "org.apache.spark:spark-token-provider-kafka-0-10_2.13"
BROKER = "org.apache.kafka:kafka_2.13"
BROKER_VERSION = "4.1.1"
BROUGHT_FOR_BROKER = ("slf4j-api-2*.jar", "log4j-slf4j2-impl-*.jar", "log4j-api-2*.jar", "log4j-core-2*.jar", "scala-library-*.jar")
PROVIDER_CLASS = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
REMEDY = 'give jars of your own: [kafka] connector = ["/path/a.jar", ...], or other coordinates there'


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Jars on this machine, and their coordinates."""

    coordinates: tuple[str, ...]
    jars: tuple[str, ...]


def provide_connector(jvm: Any, given: Sequence[str] = ()) -> tuple[Resolved, str]:
    """Put the connector on the class path of Spark's driver; return its jars, for the executors, and one line that names it.

    Do nothing if Spark already has one, by `spark.jars`, `spark.jars.packages` or spark-submit.
    """
    if not given and has_class(jvm, PROVIDER_CLASS):
        return Resolved(coordinates=(), jars=()), ""
    found = given_connector(jvm, given) if given else kept(f"connector-{pyspark.__version__}", lambda folder: resolve_connector(jvm, folder))
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for jar in found.jars:
        loader.addURL(jvm.java.io.File(jar).toURI().toURL())
    if not has_class(jvm, PROVIDER_CLASS):
        raise UserMistake(f"kafka.connector: {', '.join(given) or 'what was resolved'} holds no {PROVIDER_CLASS}; {REMEDY}")
    return found, given_words(found) if given else connector_words(found)


def resolve_connector(jvm: Any, folder: Path) -> Resolved:
    """Resolve the connector for the Spark that runs, else the nearest older one."""
    resolver = Resolver(jvm, folder)
    try:
        version, jars = resolver.newest(CONNECTOR, pyspark.__version__, without=(TOKEN_PROVIDER,))
        token_version, token = resolve_token_provider(resolver, version)
    except NotReachable as error:
        raise UserMistake(f"kafka: Spark's Kafka connector cannot be had ({error}); see that a Maven repository can be reached, or {REMEDY}") from None
    return Resolved(coordinates=(f"{CONNECTOR}:{version}", f"{TOKEN_PROVIDER}:{token_version}"), jars=new_jars((*jars, *token)))


def resolve_token_provider(resolver: Resolver, version: str) -> tuple[str, tuple[str, ...]]:
    """Resolve the token provider of a connector; not every repository has it, so it may be older than the connector."""
    return resolver.newest(TOKEN_PROVIDER, version, transitive=False)


def given_connector(jvm: Any, given: Sequence[str]) -> Resolved:
    missing = [each for each in given if each.endswith(".jar") and not os.path.exists(each)]
    if missing:
        raise UserMistake(f"kafka.connector: there is no file {missing[0]}")
    paths = tuple(each for each in given if each.endswith(".jar"))
    coordinates = tuple(each for each in given if each not in paths)
    if not coordinates:
        return Resolved(coordinates=paths, jars=paths)
    digest = hashlib.sha256("\n".join(coordinates).encode()).hexdigest()[:16]
    found = kept(f"given-{pyspark.__version__}-{digest}", lambda folder: resolve_given(jvm, folder, coordinates))
    return Resolved(coordinates=(*found.coordinates, *paths), jars=(*paths, *found.jars))


def resolve_given(jvm: Any, folder: Path, coordinates: Sequence[str]) -> Resolved:
    """Resolve coordinates with their dependencies; the token provider of a connector is resolved apart, unless it is among them."""
    resolver = Resolver(jvm, folder)
    connector = next((each for each in coordinates if each.startswith(f"{CONNECTOR}:")), None)
    try:
        jars = [jar for each in coordinates for jar in resolver.jars(each, without=(TOKEN_PROVIDER,) if each == connector else ())]
        if connector is not None and not any(each.startswith(f"{TOKEN_PROVIDER}:") for each in coordinates):
            token_version, token = resolve_token_provider(resolver, connector.rpartition(":")[2])
            coordinates, jars = [*coordinates, f"{TOKEN_PROVIDER}:{token_version}"], [*jars, *token]
    except NotReachable as error:
        raise UserMistake(f"kafka.connector: {error}") from None
    return Resolved(coordinates=tuple(coordinates), jars=new_jars(jars))


def broker_jars() -> Resolved:
    """Return the jars of a Kafka broker, with the logging and the Scala library that Spark brings.

    Spark's JVM is started to resolve them only if they are not cached.
    """

    def resolve(folder: Path) -> Resolved:
        try:
            version, jars = Resolver(any_jvm(), folder).newest(BROKER, BROKER_VERSION)
        except NotReachable as error:
            raise UserMistake(f"kafka: the jars of an embedded broker cannot be had ({error}); see that a Maven repository can be reached") from None
        return Resolved(coordinates=(f"{BROKER}:{version}",), jars=jars)

    found = kept(f"broker-jars-{BROKER_VERSION}", resolve)
    brought = [str(jar) for pattern in BROUGHT_FOR_BROKER for jar in sorted(spark_jars().glob(pattern))]
    return Resolved(coordinates=found.coordinates, jars=(*brought, *found.jars))


def any_jvm() -> Any:
    """Return the JVM of this process; if it has none, start one with only Spark's classes, which ends with the process."""
    if SparkContext._jvm is not None:
        return SparkContext._jvm
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    return launch_gateway(popen_kwargs=quiet).jvm  # type: ignore[no-untyped-call]


def new_jars(jars: Sequence[str]) -> tuple[str, ...]:
    """Return the jars that Spark does not bring itself in any version."""
    brought = {artifact_of(jar.name) for jar in spark_jars().glob("*.jar")}
    return tuple(jar for jar in jars if artifact_of(Path(jar).name) not in brought)


def artifact_of(name: str) -> str:
    """Return the artifact of a jar, without group and version.

    >>> artifact_of("org.slf4j_slf4j-api-2.0.17.jar"), artifact_of("slf4j-api-2.0.17.jar"), artifact_of("org.apache.kafka_kafka_2.13-4.1.1.jar")
    ('slf4j-api', 'slf4j-api', 'kafka_2.13')
    """
    parts = name.removesuffix(".jar").split("-")
    while len(parts) > 1 and (parts[-1][:1].isdigit() or parts[-1].startswith("preview")):
        parts.pop()
    artifact = "-".join(parts)
    group, _, rest = artifact.partition("_")
    return rest if "." in group else artifact


def spark_jars() -> Path:
    return Path(pyspark.__file__).parent / "jars"


def has_class(jvm: Any, name: str) -> bool:
    try:
        jvm.java.lang.Class.forName(name, False, jvm.java.lang.Thread.currentThread().getContextClassLoader())
    except Py4JError:
        return False
    return True


def connector_words(found: Resolved) -> str:
    """Return which connector was found, and why not the one of this Spark.

    >>> connector_words(Resolved(coordinates=(f"{CONNECTOR}:0.9.0",), jars=())).startswith("Kafka connector 0.9.0: there is none for Spark")
    True
    """
    version = next(each.rpartition(":")[2] for each in found.coordinates if each.startswith(f"{CONNECTOR}:"))
    if version == pyspark.__version__:
        return f"Kafka connector {version}"
    return f"Kafka connector {version}: there is none for Spark {pyspark.__version__} in the repositories that answer, this is the nearest older one"


def given_words(found: Resolved) -> str:
    return f"Kafka connector, as given: {', '.join(found.coordinates)}"


def cache_folder() -> Path:
    """Return the folder in which jars are cached for all jobs of this user."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"


class Resolver:
    """Spark's own resolver on the user's usual Maven repositories, without ~/.m2: poms without jars there make it fail."""

    def __init__(self, jvm: Any, folder: Path) -> None:
        self._jvm = jvm
        self._folder = folder

    def jars(self, coordinates: str, *, transitive: bool = True, without: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the jars of `group:artifact:version` and, if `transitive`, of its dependencies; raise `NotReachable` if they cannot be had."""
        jvm = self._jvm
        maven, scala = jvm.org.apache.spark.util.MavenUtils, jvm.scala.jdk.javaapi.CollectionConverters
        exclusions = jvm.java.util.ArrayList()
        for each in without:
            exclusions.add(each)
        printed = jvm.java.io.PrintStream(jvm.java.io.ByteArrayOutputStream())
        nothing = jvm.scala.Option.empty()
        try:
            settings = maven.buildIvySettings(nothing, jvm.scala.Option.apply(str(self._folder)), False, printed)
            found = maven.resolveMavenCoordinates(coordinates, settings, nothing, transitive, scala.asScala(exclusions).toSeq(), False, printed)
        except Py4JError as error:
            raise NotReachable(f"{coordinates}: {resolver_words(str(error))}") from None
        return tuple(str(jar) for jar in scala.asJava(found))

    def newest(self, artifact: str, version: str, *, transitive: bool = True, without: Sequence[str] = ()) -> tuple[str, tuple[str, ...]]:
        """Return (version, jars) of the given version, else of the nearest older one that exists."""
        problem: NotReachable | None = None
        for each in older_versions(version):
            try:
                jars = self.jars(f"{artifact}:{each}", transitive=transitive, without=without)
            except NotReachable as error:
                problem = problem or error
                continue
            return version_in(jars, artifact) or each, jars
        raise problem or NotReachable(f"{artifact}:{version}: not found")


def older_versions(version: str) -> Iterator[str]:
    """Yield a version, then those to try if it does not exist: older patches of its minor version, then the newest of each older one.

    >>> list(older_versions("4.2.1"))
    ['4.2.1', '4.2.0', '4.1.+', '4.0.+']
    """
    yield version
    numbers = [int(part) for part in re.findall(r"\d+", version)[:3]]
    major, minor, patch = (*numbers, 0, 0)[:3]
    yield from (f"{major}.{minor}.{older}" for older in range(patch - 1, -1, -1))
    yield from (f"{major}.{older}.+" for older in range(minor - 1, -1, -1))


def version_in(jars: Sequence[str], artifact: str) -> str | None:
    """Return the version of an artifact, from the name of its jar.

    >>> version_in(["/ivy/jars/org.apache.kafka_kafka_2.13-4.1.1.jar"], "org.apache.kafka:kafka_2.13")
    '4.1.1'
    """
    name = artifact.replace(":", "_")
    return next((Path(jar).name.removeprefix(f"{name}-").removesuffix(".jar") for jar in jars if Path(jar).name.startswith(f"{name}-")), None)


def resolver_words(text: str) -> str:
    found = re.search(r"(?:RuntimeException|IllegalArgumentException): (.+)", text)
    return " ".join((found[1] if found else text.splitlines()[0]).split())[:200]


def kept(name: str, resolve: Callable[[Path], Resolved]) -> Resolved:
    """Return what is cached under this name, if all its jars still exist; else resolve it, one process at a time."""
    folder = cache_folder()
    with FileLease(folder / "resolving.lock", wait=True):
        note = folder / f"{name}.json"
        known = noted(note)
        if known is not None and all(os.path.exists(jar) for jar in known.jars):
            return known
        found = resolve(folder / "ivy")
        unfinished = note.with_suffix(".new")
        unfinished.write_text(json.dumps({"coordinates": found.coordinates, "jars": found.jars}))
        unfinished.replace(note)
        return found


def noted(note: Path) -> Resolved | None:
    """Return the content of a note; None if it cannot be read."""
    try:
        said = json.loads(note.read_text())
        return Resolved(coordinates=tuple(said["coordinates"]), jars=tuple(said["jars"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
