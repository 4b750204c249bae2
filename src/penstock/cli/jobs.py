"""Find the job that a command is about."""

from typing import Annotated

import typer

from penstock.core.errors import UserMistake
from penstock.remote import RemoteJob
from penstock.runtime.home import JobFolder, home, job_folders

JobOption = Annotated[str | None, typer.Option("--job", help="The name of the job; needed only if there are several.", metavar="NAME")]


def running_job(name: str | None) -> RemoteJob:
    """Return the running job of that name, or the only running one."""
    living = [folder for folder in job_folders() if RemoteJob(folder.socket).lives()]
    names = ", ".join(folder.name for folder in living) or "none"
    if name is not None:
        living = [folder for folder in living if folder.name == name]
        if not living:
            raise UserMistake(f"no job {name!r} runs here; running: {names} (state in {home()})")
    if not living:
        raise UserMistake(f"no job runs here (state in {home()}); start one with `penstock run job.toml`")
    if len(living) > 1:
        raise UserMistake(f"several jobs run here: say which with --job; running: {names}")
    return RemoteJob(living[0].socket)


def remembered_job(name: str | None) -> JobFolder:
    """Return the job of that name that has a history, running or not; else the only one, or the only running one."""
    known = [folder for folder in job_folders() if folder.history.exists()]
    names = ", ".join(folder.name for folder in known) or "none"
    if name is not None:
        known = [folder for folder in known if folder.name == name]
        if not known:
            raise UserMistake(f"there is no history of a job {name!r}; there are: {names} (state in {home()})")
    if len(known) > 1:
        living = [folder for folder in known if RemoteJob(folder.socket).lives()]
        known = living if len(living) == 1 else known
    if len(known) != 1:
        hint = "say which with --job" if known else "run a job first: penstock run job.toml"
        raise UserMistake(f"{hint}; histories here: {names} (state in {home()})")
    return known[0]
