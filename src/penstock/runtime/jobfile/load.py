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
from penstock.runtime.jobfile.check import checked
from penstock.runtime.jobfile.document import read_document
from penstock.runtime.jobfile.kinds import NAME_PATTERN
from penstock.runtime.jobfile.mistakes import Mistakes
from penstock.runtime.jobfile.shorthand import written_out
from penstock.runtime.secrets import resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedJob:
    """A job, the secrets in it that nobody may see, and `declared`: the file's content without them, which may be shown."""

    spec: JobSpec
    secrets: frozenset[str]
    declared: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"LoadedJob({self.spec.name!r}, {len(self.secrets)} secrets)"


def load_job(path: Path, *, environ: Mapping[str, str] = os.environ) -> LoadedJob:
    """Read and check a job file; the user's code is not imported. Raises `UserMistake` with one line that shows no secret."""
    declared = read_document(path)
    mistakes = Mistakes(str(path), declared)
    full_path = Path(os.path.abspath(path))
    resolved = resolve(declared, folder=full_path.parent, environ=environ)
    for keys, problem in resolved.problems:
        mistakes.add(keys, problem)
    mistakes.stop()
    name = _name(resolved.value, full_path)
    table = checked(written_out(resolved.value, name, mistakes), mistakes)
    mistakes.stop()
    assert table is not None
    spec = Builder(folder=full_path.parent, mistakes=mistakes).job(table, default_name=name)
    mistakes.stop()
    return LoadedJob(spec=spec, secrets=resolved.secrets, declared=declared)


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
