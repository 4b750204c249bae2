"""The clock of the controller."""

import time


class SteadyClock:
    """Seconds since 1970 that advance with the monotonic clock: changes of the system time do not affect them."""

    def __init__(self) -> None:
        self._offset_s = time.time() - time.monotonic()

    def now_s(self) -> float:
        return time.monotonic() + self._offset_s

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)
