"""Jars from Maven repositories, by the resolver inside Spark; cached, so that the next time needs no network."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError

from penstock.core.errors import NotReachable
from penstock.leases import FileLease

OLDEST_MINOR = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Jars on this machine, and their coordinates."""

    coordinates: tuple[str, ...]
    jars: tuple[str, ...]


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
    yield from (f"{major}.{older}.+" for older in range(minor - 1, OLDEST_MINOR - 1, -1))


def version_in(jars: Sequence[str], artifact: str) -> str | None:
    """Return the version of an artifact, from the name of its jar.

    >>> version_in(["/ivy/jars/org.apache.kafka_kafka_2.13-4.1.1.jar"], "org.apache.kafka:kafka_2.13")
    '4.1.1'
    """
    name = artifact.replace(":", "_")
    return next((Path(jar).name.removeprefix(f"{name}-").removesuffix(".jar") for jar in jars if Path(jar).name.startswith(f"{name}-")), None)


def resolver_words(text: str) -> str:
    """Return what the resolver's exception says, in one line."""
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
