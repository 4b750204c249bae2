from pathlib import Path

from penstock.runtime.jobfile import LoadedJob, load_job

RIGHT = """
[limits]
min_executors = 2
max_executors = 8
[sources.clicks]
format = "trace"
rate = "constant(100)"
[queries.counted]
function = "job.py:counted"
trigger = "5s"
[queries.counted.sink]
format = "noop"
"""

CODE = """
def counted(clicks):
    return clicks
"""

HALF_FULL = """
from dataclasses import dataclass

from penstock.core.domain.decision import Comparison
from penstock.core.policies.choosing import smallest
from penstock.core.settings import setting, timer


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfFull:
    name: str = "half_full"
    period_s: float = timer(30.0, "time between two decisions", lowest=1)
    share: float = setting(0.5, "of its capacity the job is filled so far", lowest=0.01, highest=1)
    spare: int = 0
    eager: bool = False
    needs: frozenset = frozenset({"load", "capacity"})
    faithful: bool = False

    def decide(self, seen):
        load = seen.load_rows_per_s or 0.0

        def refuse(executors, capacity):
            most = self.share * capacity
            return None if most >= load else Comparison(code="too_full", value=load, limit=most, says="{value} rows/s arrive, {limit} fill its share")

        return smallest(seen, self.name, refuse)
"""


def write(folder: Path, autopilot: str = "", *, job: str = RIGHT, code: str = CODE) -> Path:
    """A job file with this `[autopilot]` table, and the code it names."""
    (folder / "job.py").write_text(code)
    path = folder / "job.toml"
    path.write_text(f"{job}\n[autopilot]\n{autopilot}\n")
    return path


def loaded(folder: Path, autopilot: str = "", *, job: str = RIGHT, **environ: str) -> LoadedJob:
    return load_job(write(folder, autopilot, job=job), environ=environ)
