"""Child processes that end with their parent."""

import ctypes
import signal
import subprocess
from typing import Any

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """For `preexec_fn`: make the kernel end this child when the thread that started it ends (Linux)."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def end_process(process: subprocess.Popen[Any], grace_s: float = 10.0) -> None:
    """End a child process: terminate it, and kill it after the grace time."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(grace_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
