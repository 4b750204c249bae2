"""The `[autopilot]` table of a job file, or of a script: what the owner allows the autopilot."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.core.domain.autopilot import Autopilot, Floor
from penstock.core.domain.job_spec import Limits
from penstock.core.domain.profile import ProfileSeen
from penstock.core.errors import UserMistake
from penstock.core.policies.registry import POLICIES, PROFILED, nearest, parameters_of
from penstock.runtime.jobfile import kinds
from penstock.runtime.jobfile.mistakes import Mistakes
from penstock.runtime.jobfile.own_policy import is_own
from penstock.runtime.jobfile.spark_options import absolute, code
from penstock.runtime.jobfile.tables import AUTOPILOT_KEYS, AutopilotTable, CalendarTable
from penstock.runtime.secrets import Keys

TABLE = "autopilot"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutopilotBuilder:
    """Builds the autopilot of a table; relative paths start from `folder`, mistakes are added to `mistakes`."""

    folder: Path
    mistakes: Mistakes

    def autopilot(self, table: AutopilotTable, limits: Limits) -> Autopilot:
        known = {name: getattr(table, key) for name, key in AUTOPILOT_KEYS.items() if key in AutopilotTable.model_fields}
        known |= {"policy": self._policy(table.policy), "parameters": self._parameters(table.policy, table.parameters)}
        autopilot = Autopilot(**{**known, "calendar": self._calendar(table.calendar)})
        if table.policy in PROFILED and table.profile is None:
            self.mistakes.add((TABLE, "profile"), f'missing, the policy {table.policy} decides by a profile of the job: name its file, or policy = "auto"')
        if not self.mistakes.within("limits"):
            for keys, allowed in beyond_limits(autopilot, limits, self.mistakes):
                self.mistakes.found(keys, allowed)
        return autopilot

    def profile(self, table: AutopilotTable) -> tuple[ProfileSeen, ...]:
        if table.profile is None:
            return ()
        from penstock.tables.measurements import read_profile

        keys = (TABLE, "profile")
        try:
            return tuple(read_profile(Path(absolute(self.folder, table.profile))))
        except UserMistake as mistake:
            in_the_open = self.mistakes.declared(keys) == table.profile
            self.mistakes.add(keys, str(mistake) if in_the_open else f"found {self.mistakes.shown(keys)}, which cannot be read as a profile")
            return ()

    def _policy(self, policy: str) -> str:
        keys = (TABLE, "policy")
        if is_own(policy):
            return code(self.folder, policy, keys, self.mistakes)
        if policy not in POLICIES:
            meant = nearest(str(self.mistakes.declared(keys)), POLICIES)
            self.mistakes.add(keys, f"found {self.mistakes.shown(keys)}, there is no such policy; {meant}")
        return policy

    def _parameters(self, policy: str, given: Mapping[str, Any]) -> dict[str, float | bool]:
        """Return the parameters of a policy; those of a policy of the owner's own are only checked to be numbers, or true or false."""
        if self.mistakes.is_known((TABLE, "policy")):
            return {}
        declared = {} if is_own(policy) else parameters_of(policy)
        parameters: dict[str, float | bool] = {}
        for name, value in given.items():
            keys = (TABLE, "parameters", name)
            if name not in declared and not is_own(policy):
                self.mistakes.add(keys, f"the policy {policy} has no such parameter; {nearest(name, declared)}")
                continue
            kind = kinds.of_setting(declared[name]) if name in declared else kinds.any_parameter(name)
            try:
                read: Any = kind.read(value)
                parameters[name] = read if isinstance(read, bool) else float(read)
            except kinds.NOT_READ:
                self.mistakes.found(keys, kind.allowed)
        return parameters

    def _calendar(self, tables: tuple[CalendarTable, ...]) -> tuple[Floor, ...]:
        names = [each.name for each in tables]
        for index, table in enumerate(tables):
            keys: Keys = (TABLE, "calendar", index)
            if table.name in names[:index]:
                self.mistakes.add((*keys, "name"), f"found {self.mistakes.shown((*keys, 'name'))} twice, each name once is allowed")
            if not table.hours and table.from_ is None and table.until is None:
                self.mistakes.add(keys, "found neither hours nor from and until, one of the two is needed")
            if table.from_ is not None and table.until is not None and table.until <= table.from_:
                self.mistakes.found((*keys, "until"), f"a time after from ({self.mistakes.shown((*keys, 'from'))})")
        return tuple(
            Floor(name=each.name, min_executors=each.min_executors, hours=each.hours, from_s=each.from_, until_s=each.until, lead_s=each.lead)
            for each in tables
        )


def beyond_limits(autopilot: Autopilot, limits: Limits, file: Mistakes) -> Iterator[tuple[Keys, str]]:
    """Yield the keys of what exceeds the limits, with what is allowed; `file` shows the limits as they are written."""
    lowest, highest = limits_words(limits, file)
    quota, fallback = autopilot.quota_executors, autopilot.fallback_executors
    if quota is not None and quota < limits.min_executors:
        yield (TABLE, "quota_executors"), f"at least {lowest}"
    if fallback is not None and not limits.min_executors <= fallback <= limits.max_executors:
        yield (TABLE, "fallback_executors"), f"a whole number from {lowest} to {highest}"
    for index, floor in enumerate(autopilot.calendar):
        if floor.min_executors > limits.max_executors:
            yield (TABLE, "calendar", index, "min_executors"), f"at most {highest}"


def limits_words(limits: Limits, file: Mistakes) -> tuple[str, str]:
    """Return the names of both limits with their values as the file writes them."""
    shown = {name: file.shown(("limits", name), default=getattr(limits, name)) for name in ("min_executors", "max_executors")}
    return f"limits.min_executors ({shown['min_executors']})", f"limits.max_executors ({shown['max_executors']})"
