"""Load a job file: read it, resolve its secrets, expand its shorthands, check it, build the job. Or check what a script says about the autopilot."""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.job_spec import JobSpec, Limits, Promises
from penstock.core.domain.profile import ProfileSeen
from penstock.core.errors import UserMistake
from penstock.runtime.jobfile.autopilot_table import TABLE, AutopilotBuilder
from penstock.runtime.jobfile.build import Builder
from penstock.runtime.jobfile.check import checked, without, written_out
from penstock.runtime.jobfile.kinds import NAME_PATTERN
from penstock.runtime.jobfile.mistakes import Mistakes
from penstock.runtime.secrets import resolve

_DEEPEST = 30


def read_document(path: Path) -> dict[str, Any]:
    """Return the file's content, with only the syntax checked."""
    text = _text(path)
    try:
        tree = tomllib.loads(text)
        if _depth(tree) > _DEEPEST:
            raise RecursionError
    except ValueError as error:
        raise UserMistake(f"{path}: not valid TOML: {_syntax_words(str(error), text)}") from None
    except RecursionError:
        raise UserMistake(f"{path}: tables and lists are nested too deeply, {_DEEPEST} levels are allowed") from None
    return tree


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UserMistake(f'{path}: there is no such file; "penstock init" writes one to start from') from None
    except IsADirectoryError:
        raise UserMistake(f"{path}: this is a folder; give the job file in it, such as {path / 'job.toml'}") from None
    except (OSError, ValueError) as error:
        raise UserMistake(f"{path}: cannot be read ({getattr(error, 'strerror', None) or 'not a path'})") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserMistake(f"{path}: line {line} is not UTF-8 text; save the file as UTF-8") from None


def _syntax_words(message: str, text: str) -> str:
    """Return the parser's message, with line and column also for the end of the file.

    >>> _syntax_words("Invalid value (at end of document)", "a = 1\\nb = ")
    'Invalid value (at line 2, column 5, the end of the file)'
    """
    lines = text.split("\n")
    end = f"at line {len(lines)}, column {len(lines[-1]) + 1}, the end of the file"
    return message.replace("at end of document", end).replace("Cannot overwrite a value", "a key is there twice")


def _depth(tree: object) -> int:
    """Return how deeply tables and lists are nested, without recursion.

    >>> _depth({"a": {"b": [1]}})
    3
    """
    depth, level = 0, [tree]
    while level := [each for each in level if isinstance(each, (dict, list))]:
        depth += 1
        level = [child for each in level for child in (each.values() if isinstance(each, dict) else each)]
    return depth


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedJob:
    """A job, its file, its secrets, and `declared`: the file's content with secrets unresolved, which may be shown."""

    spec: JobSpec
    path: Path
    secrets: frozenset[str]
    declared: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"LoadedJob({self.spec.name!r}, {len(self.secrets)} secrets)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A job and the mistakes in its file; `job` leaves out what is wrong."""

    job: LoadedJob
    mistakes: Mistakes


def load_job(path: Path, *, environ: Mapping[str, str] = os.environ) -> LoadedJob:
    """Read and check a job file; the user's code is not imported. Raises `UserMistake` with one line that shows no secret."""
    found = examine_job(path, environ=environ)
    found.mistakes.stop()
    return found.job


def examine_job(path: Path, *, environ: Mapping[str, str] = os.environ) -> Examined:
    """Read a job file and find all its mistakes; raise `UserMistake` only if it is not TOML."""
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
    """Return the job's name: the one in the file if it is valid, else one made from the file's name or, for `job.toml`, the folder's.

    >>> _name({}, Path("/jobs/click stream/job.toml")), _name({}, Path("/jobs/lookup.toml"))
    ('click-stream', 'lookup')
    """
    given = tree.get("name")
    if isinstance(given, str) and re.fullmatch(NAME_PATTERN, given):
        return given
    stem = path.parent.name if path.name == "job.toml" else path.stem
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", stem).strip("-.")[:100] or "job"


def scripted_autopilot(given: Mapping[str, Any], limits: Limits, promises: Promises, folder: Path) -> tuple[Autopilot, tuple[ProfileSeen, ...]]:
    """Return the autopilot that a script declares, and its profile; raise `UserMistake` with a line for each mistake.

    >>> autopilot, _ = scripted_autopilot({"mode": "shadow", "ask_expiry": "5m"}, Limits(), Promises(), Path())
    >>> autopilot.mode, autopilot.ask_expiry_s
    ('shadow', 300.0)
    """
    tree = {TABLE: dict(given) if isinstance(given, Mapping) else given}
    mistakes = Mistakes("", tree)
    table = checked(tree, mistakes).autopilot
    builder = AutopilotBuilder(folder=folder, mistakes=mistakes)
    autopilot, profile = builder.autopilot(table, limits), builder.profile(table)
    if promises.recovery_s is not None and autopilot.downtime_s is not None and promises.recovery_s <= autopilot.downtime_s:
        mistakes.add(("recovery_s",), f"found {promises.recovery_s:g}, no number of executors can keep it: more than autopilot.downtime is allowed")
    if mistakes.lines:
        raise UserMistake(*mistakes.lines)
    return autopilot, profile
