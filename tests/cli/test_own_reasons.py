from pathlib import Path

import pytest
from asked import found, table
from changes import scaled_to
from recorded_history import decided, reading, started, written

from penstock.core.domain.decision import Candidate, Comparison, Decision

OWN = Comparison(code="too_cold", value=3.0, limit=10.0, says="{value} degrees, {limit} are needed")


@pytest.mark.parametrize(
    ("why", "words"),
    [
        (OWN, "3 degrees, 10 are needed"),
        (Comparison(code="too_cold", value=3.0, limit=10.0), "too cold (3, 10)"),
        (Comparison(code="too_cold"), "too cold"),
        (Comparison(code="too_cold", says="50% {off}"), "50% {off}"),
    ],
)
def test_a_reason_of_its_own_is_explained_and_in_the_history(tmp_path: Path, why: Comparison, words: str) -> None:
    weighed = (Candidate(configuration=scaled_to(2), refused=why), Candidate(configuration=scaled_to(3)))
    decision = Decision(policy="mine", configuration=scaled_to(3), current=scaled_to(4), why=why, candidates=weighed, guards=(why,))
    path = written(tmp_path / "h.db", [started("active"), decided(60.0, mode="active", effect="asked", decision=decision)], [reading(60.0)])
    assert table("explain", "--file", path).count(words) >= 3, "the choice, the guard, the candidate"
    assert found("explain", "--file", path)["decision"]["why"]["words"] == words
    assert words in table("history", "--file", path)
