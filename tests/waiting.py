import time
from collections.abc import Callable

PATIENCE = 4.0
"""A machine may be several times slower than usual: a deadline only ends the wait for what never comes."""


def wait_until(condition: Callable[[], object], timeout_s: float = 60.0, what: str = "the condition") -> None:
    deadline = time.monotonic() + PATIENCE * timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come true within {PATIENCE * timeout_s} s"
        time.sleep(0.05)
