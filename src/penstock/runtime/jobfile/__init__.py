"""Reading a job file: TOML in, a `JobSpec` out, and one line for every mistake."""

from penstock.runtime.jobfile.load import LoadedJob, load_job

__all__ = ["LoadedJob", "load_job"]
