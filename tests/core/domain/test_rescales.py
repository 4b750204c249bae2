from __future__ import annotations

from penstock.core.domain.reading import rescales
from penstock.runtime.fakes import blank_reading


def test_a_rescale_is_a_change_of_the_size_that_is_asked_for_whoever_comes_and_goes() -> None:
    sizes = ((2, 2), (2, 3), (3, 3), (2, 3), (3, 3), (4, 3), (3, 1), (1, 1))
    assert rescales([blank_reading(5.0 * at, executors_running=running, executors_requested=asked) for at, (running, asked) in enumerate(sizes)]) == 2
    assert rescales([]) == 0
