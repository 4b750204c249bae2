"""What the benchmark says of Khaos's regressions."""

from __future__ import annotations

import pytest

from penstock.selftest.models.regressions import regressions
from penstock.selftest.worlds.khaos import LATENCIES, RECOVERIES


@pytest.mark.long
def test_every_world_is_held_to_the_target_that_its_noise_permits() -> None:
    found = regressions(seeds=(100,))
    assert [each.most for each in found] == [0.16] * len(RECOVERIES) + [0.09] * len(RECOVERIES) + [0.15] * len(LATENCIES)
    assert not [each.what for each in found if not each.met]
