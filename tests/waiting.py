import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], timeout_s: float = 60.0, what: str = "the condition") -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come true within {timeout_s} s"
        time.sleep(0.05)
