"""The terms a job runs under: what its owner allows and promises, and the settings."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.config import Config
from penstock.core.domain.job import Limits, Promises


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    limits: Limits = Limits()
    promises: Promises = Promises()
    config: Config = Config()
