"""The process that fits: a question a line comes in, an answer a line goes out, until its parent is gone or says no more."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable

from penstock.core.fitting import FitAsked, FitDone, fitted
from penstock.processes import die_with_parent
from penstock.stores.codec import decode, encode

NICE = 10


def main(parent: int, memory_mb: int, fit: Callable[[FitAsked], FitDone] = fitted) -> None:
    """Answer until the questions end; what a library prints goes to the standard error, as answers have the standard output for themselves."""
    die_with_parent()
    if os.getppid() != parent:
        return
    os.nice(NICE)
    # What statsforecast is made of imports pyspark wherever there is one; nothing here needs it.
    sys.modules["pyspark"] = None  # type: ignore[assignment]
    most = memory_mb * 1_000_000
    # Not the address space: numba maps far more than it ever uses.
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        for line in sys.stdin.buffer:
            print(encode(answer(decode(FitAsked, line.decode()), memory_mb, fit)), file=answers, flush=True)


def answer(asked: FitAsked, memory_mb: int, fit: Callable[[FitAsked], FitDone]) -> FitDone:
    try:
        return fit(asked)
    except MemoryError:
        return FitDone(number=asked.number, took_s=0.0, error=f"it needs more than the {memory_mb} MB that settings.fit_memory_mb allows")
    except Exception as error:
        return FitDone(number=asked.number, took_s=0.0, error=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
