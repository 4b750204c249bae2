"""Reading a job file: TOML in, a `JobSpec` out, and one line for every mistake."""

from penstock.runtime.jobfile.loaded_job import Examined, LoadedJob, examine_job, load_job, scripted_autopilot
from penstock.runtime.jobfile.own_policy import own_policy
from penstock.runtime.jobfile.watch import AutopilotWatch

__all__ = ["AutopilotWatch", "Examined", "LoadedJob", "examine_job", "load_job", "own_policy", "scripted_autopilot"]
