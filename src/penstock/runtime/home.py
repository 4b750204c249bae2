"""The state folder of Penstock on this machine, and the folder of each job in it."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Self

from penstock.core.errors import UserMistake

_LONGEST_SOCKET_PATH = 100


def home() -> Path:
    """Return PENSTOCK_HOME, else penstock in the user's state folder."""
    given = os.environ.get("PENSTOCK_HOME")
    return Path(given).absolute() if given else Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "penstock"


class JobFolder:
    """The folder of one job: its history, its lease and its socket, for its owner alone."""

    def __init__(self, name: str, root: Path | None = None) -> None:
        self.name = name
        self.path = (root or home()) / "jobs" / name

    def create(self) -> Self:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.chmod(0o700)
        except OSError as error:
            raise UserMistake(f"the state folder {self.path} cannot be made: {error.strerror}; set PENSTOCK_HOME to a folder that can be written") from None
        return self

    @property
    def history(self) -> Path:
        return self.path / "history.db"

    @property
    def lease(self) -> Path:
        return self.path / "lease"

    @property
    def signature(self) -> Path:
        """The token with which the last driver of this folder took the lease beside the checkpoint."""
        return self.path / "signature"

    @property
    def socket(self) -> Path:
        """The socket's path: in the job's folder or, if that path is too long for a socket, in a short one of the same user."""
        here = self.path / "socket"
        if len(os.fsencode(here)) < _LONGEST_SOCKET_PATH:
            return here
        import hashlib

        return short_folder() / hashlib.sha256(str(here).encode()).hexdigest()[:16]


def short_folder(root: Path = Path("/tmp")) -> Path:
    """Return the folder for sockets whose own path is too long; raise if another user owns it or can write there."""
    folder = root / f"penstock-{os.getuid()}"
    with suppress(FileNotFoundError):
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
            raise UserMistake(f"{folder} is not a folder of this user alone, and the job's socket would be there: remove it, or give a shorter PENSTOCK_HOME")
    return folder


def job_folders(root: Path | None = None) -> list[JobFolder]:
    return [JobFolder(path.name, root) for path in sorted(((root or home()) / "jobs").glob("*")) if path.is_dir()]
