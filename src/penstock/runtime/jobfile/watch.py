"""Watch the job file while its job runs: changes in `[autopilot]` are followed at once."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.events.autopilot_events import AutopilotChanged, AutopilotRefused
from penstock.core.domain.units import duration_words
from penstock.core.errors import UserMistake
from penstock.ports import Clock
from penstock.runtime.inbox import Reread
from penstock.runtime.jobfile.autopilot_table import TABLE, beyond_limits
from penstock.runtime.jobfile.loaded_job import LoadedJob, load_job
from penstock.runtime.jobfile.mistakes import Mistakes, value_text
from penstock.runtime.jobfile.own_policy import is_own
from penstock.runtime.jobfile.tables import AUTOPILOT_KEYS, AutopilotTable

Stamp = tuple[int, int, int] | None
"""Modification time, size and inode of a file; None if it does not exist."""


class AutopilotWatch:
    """Called each turn; returns None if the file is unchanged, else what to follow, or why it is not followed.

    A file with a mistake, or one that is gone, is reported once and changes nothing. A policy of the owner's own is made at the start: a change to it
    or away from it, and to its parameters, waits for the next start. What can be read only once, such as a pipe, is not read again.
    """

    def __init__(self, job: LoadedJob, clock: Clock, *, environ: Mapping[str, str] = os.environ) -> None:
        self._runs = job
        self._clock = clock
        self._environ = environ
        self._autopilot = job.spec.autopilot
        self._profile = job.spec.profile
        self._declared = job.declared
        self._is_file = job.path.is_file() or not job.path.exists()
        self._looked = False
        self._stamp: Stamp = None
        self._refused: tuple[str, str] | None = None
        self._waiting: tuple[str, ...] = ()

    def __call__(self) -> Reread | None:
        if not self._is_file:
            return None
        stamp = _stamp(self._runs.path)
        if self._looked and stamp == self._stamp:
            return None
        self._looked, self._stamp = True, stamp
        try:
            job = self._load()
        except UserMistake as mistake:
            return self._refuse(str(mistake))
        self._refused = None
        return self._take(job)

    def _load(self) -> LoadedJob:
        if self._stamp is None:
            raise UserMistake(f"{self._runs.path}: the file is gone")
        job = load_job(self._runs.path, environ=self._environ)
        for keys, allowed in beyond_limits(job.spec.autopilot, self._runs.spec.limits, Mistakes("", self._runs.declared)):
            where = ".".join(map(str, keys))
            raise UserMistake(f"{self._runs.path}: {where}: {allowed} is allowed while the job runs; other limits need a restart")
        return job

    def _refuse(self, reason: str) -> Reread | None:
        """Return the reason as an event, once for each content of the file."""
        refused = (_digest(self._runs.path), reason)
        if refused == self._refused:
            return None
        self._refused = refused
        return Reread(event=AutopilotRefused(at_s=self._clock.now_s(), reason=reason))

    def _take(self, job: LoadedJob) -> Reread | None:
        kept = self._kept(job.spec.autopilot)
        autopilot = replace(job.spec.autopilot, **kept)
        declared = {**job.declared, TABLE: _with_kept(job.declared.get(TABLE, {}), self._declared.get(TABLE, {}), kept)}
        later = tuple(f"{TABLE}.{name}" for name, value in kept.items() if getattr(job.spec.autopilot, name) != value)
        waiting = (*other_tables(self._runs.declared, job.declared), *later)
        changes = autopilot_changes(self._autopilot, autopilot, self._declared, declared)
        anew = job.spec.profile != self._profile
        if anew:
            changes = (*changes, ("profile", _words(_table(self._declared), "profile"), _words(_table(declared), "profile")))
        is_news = bool(changes) or waiting != self._waiting
        self._autopilot, self._profile, self._declared, self._waiting = autopilot, job.spec.profile, declared, waiting
        if not is_news:
            return None
        event = AutopilotChanged(at_s=self._clock.now_s(), changes=changes, needs_restart=waiting)
        return Reread(event=event, autopilot=autopilot if changes else None, profile=job.spec.profile if anew else None)

    def _kept(self, asked: Autopilot) -> dict[str, Any]:
        """Return the fields that keep their values until the next start, if the old or the new policy is the owner's own."""
        runs = self._autopilot
        if not is_own(runs.policy) and not is_own(asked.policy):
            return {}
        scale = {"time_scale": runs.time_scale} if is_own(runs.policy) else {}
        return {"policy": runs.policy, "parameters": runs.parameters, **scale}


def _with_kept(table: Mapping[str, Any], before: Mapping[str, Any], kept: Iterable[str]) -> dict[str, Any]:
    """Return the table that is followed: kept keys as they were written before.

    >>> _with_kept({"mode": "ask", "policy": "half.py:Half"}, {"mode": "shadow"}, ["policy"])
    {'mode': 'ask'}
    """
    kept = set(kept)
    return {key: value for key, value in table.items() if key not in kept} | {key: value for key, value in before.items() if key in kept}


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _digest(path: Path) -> str:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


Change = tuple[str, str, str]
Declared = Mapping[str, Any]
NOTHING = "none"


def autopilot_changes(before: Autopilot, now: Autopilot, declared_before: Declared, declared_now: Declared) -> tuple[Change, ...]:
    """Return key, old value and new value of all that differs, as the files write it, secrets unresolved."""
    written, rewritten = (_table(each) for each in (declared_before, declared_now))
    found: list[Change] = []
    for field in fields(Autopilot):
        if getattr(before, field.name) == getattr(now, field.name):
            continue
        key = AUTOPILOT_KEYS[field.name]
        if key in ("parameters", "calendar"):
            found += _inside(key, _named(written.get(key)), _named(rewritten.get(key)))
        else:
            found.append((key, _words(written, key), _words(rewritten, key)))
    return tuple(found)


def other_tables(declared_before: Declared, declared_now: Declared) -> tuple[str, ...]:
    """Return the top-level keys that differ, except `[autopilot]`.

    >>> other_tables({"name": "a", "limits": {"max_executors": 4}}, {"name": "a", "limits": {"max_executors": 5}, "spark": {}})
    ('limits', 'spark')
    """
    keys = dict.fromkeys([*declared_before, *declared_now])
    return tuple(key for key in keys if key != TABLE and declared_before.get(key) != declared_now.get(key))


def _table(declared: Declared) -> Mapping[str, Any]:
    table: Mapping[str, Any] = declared.get(TABLE, {})
    return table


def _words(table: Mapping[str, Any], key: str) -> str:
    """Return a value as it is written, without quotes, or its default.

    >>> _words({}, "ask_expiry"), _words({"hours": ["sat-sun"]}, "hours"), _words({}, "mode"), _words({}, "quota_executors")
    ('10m', '["sat-sun"]', 'observe', 'none')
    """
    if key in table:
        return _text(table[key])
    default = AutopilotTable.model_fields[key].default
    if isinstance(default, float):
        return f"{default:g}" if key == "time_scale" else duration_words(default)
    return NOTHING if default in (None, ()) else _text(default)


def _text(value: object) -> str:
    return value if isinstance(value, str) else value_text(value)


def _named(table: object) -> dict[str, str]:
    """Return the parts of a table, or of a list of tables by their names, as texts."""
    if isinstance(table, list):
        return {_text(each["name"]): value_text({key: value for key, value in each.items() if key != "name"}) for each in table}
    return {key: _text(value) for key, value in table.items()} if isinstance(table, Mapping) else {}


def _inside(key: str, before: Mapping[str, str], now: Mapping[str, str]) -> list[Change]:
    """Return one change for each name that differs.

    >>> _inside("parameters", {"grace_s": "120"}, {"grace_s": "60", "horizon_s": "10m"})
    [('parameters.grace_s', '120', '60'), ('parameters.horizon_s', 'none', '10m')]
    """
    names = dict.fromkeys([*before, *now])
    return [(f"{key}.{name}", before.get(name, NOTHING), now.get(name, NOTHING)) for name in names if before.get(name) != now.get(name)]
