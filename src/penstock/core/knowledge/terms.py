"""The terms a job runs under: what its owner allows and promises, and the settings."""

from dataclasses import dataclass, field
from typing import Self

from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.job_spec import JobSpec, Limits, Promises
from penstock.core.domain.profile import ProfileSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """`profile` is what was measured of the job beforehand, where its owner has such a file."""

    limits: Limits = Limits()
    promises: Promises = Promises()
    config: Config = Config()
    autopilot: Autopilot = field(default_factory=Autopilot)
    profile: tuple[ProfileSeen, ...] = ()

    @classmethod
    def of(cls, job: JobSpec) -> Self:
        return cls(limits=job.limits, promises=job.promises, config=job.config, autopilot=job.autopilot, profile=job.profile)
