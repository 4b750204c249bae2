"""Loading a job file: read, put the secrets in, write the shorthands out, check, build."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.core.domain.job import JobSpec
from penstock.runtime.jobfile.build import Builder
from penstock.runtime.jobfile.check import checked, without
from penstock.runtime.jobfile.document import read_document
from penstock.runtime.jobfile.kinds import NAME_PATTERN
from penstock.runtime.jobfile.mistakes import Mistakes
from penstock.runtime.jobfile.shorthand import written_out
from penstock.runtime.secrets import resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedJob:
    """A job, its file, the secrets in it that nobody may see, and `declared`: the file's content without them, which may be shown."""

    spec: JobSpec
    path: Path
    secrets: frozenset[str]
    declared: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"LoadedJob({self.spec.name!r}, {len(self.secrets)} secrets)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A job file and all mistakes found in it; where there are some, `job` is what remains without them."""

    job: LoadedJob
    mistakes: Mistakes


def load_job(path: Path, *, environ: Mapping[str, str] = os.environ) -> LoadedJob:
    """Read and check a job file; the user's code is not imported. Raises `UserMistake` with one line that shows no secret."""
    found = examine_job(path, environ=environ)
    found.mistakes.stop()
    return found.job


def examine_job(path: Path, *, environ: Mapping[str, str] = os.environ) -> Examined:
    """Read a job file and look for mistakes to its end; `UserMistake` only for one that is no TOML."""
    declared = read_document(path)
    mistakes = Mistakes(str(path), declared)
    full_path = Path(os.path.abspath(path))
    resolved = resolve(declared, folder=full_path.parent, environ=environ)
    tree = resolved.value
    for keys, problem in resolved.problems:
        mistakes.add(keys, problem)
        tree = without(tree, keys)
    name = _name(tree, full_path)
    table = checked(written_out(tree, name, mistakes), mistakes)
    mistakes.settle()
    spec = Builder(folder=full_path.parent, mistakes=mistakes).job(table, default_name=name)
    return Examined(job=LoadedJob(spec=spec, path=full_path, secrets=resolved.secrets, declared=declared), mistakes=mistakes)


def _name(tree: Mapping[str, Any], path: Path) -> str:
    """The name the file gives if it is a good one, else one made from the file's or, for `job.toml`, the folder's.

    >>> _name({}, Path("/jobs/click stream/job.toml")), _name({}, Path("/jobs/lookup.toml"))
    ('click-stream', 'lookup')
    """
    given = tree.get("name")
    if isinstance(given, str) and re.fullmatch(NAME_PATTERN, given):
        return given
    stem = path.parent.name if path.name == "job.toml" else path.stem
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", stem).strip("-.")[:100] or "job"
