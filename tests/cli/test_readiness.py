from pathlib import Path

import pytest
from asked import found, shown
from recorded_history import decided, reading, shadow_history, simulated, started, written

from penstock.cli.readiness import REMEDIES
from penstock.core.domain.events.autopilot_events import AutopilotChanged
from penstock.core.domain.reasons import READINESS_SAYS


@pytest.fixture(scope="module")
def shadow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty minutes of a simulated job in shadow whose day is so short that they are enough."""
    return simulated(tmp_path_factory.mktemp("shadow") / "history.db", minutes=20, time_scale=0.05)


def test_a_short_shadow_says_how_long_it_takes(tmp_path: Path) -> None:
    answer = found("readiness", "--file", shadow_history(tmp_path / "h.db"))
    assert answer["ready"] is False and [each["code"] for each in answer["reasons"]] == ["shadow_too_short", "nothing_proven"]
    assert (answer["shadow_s"], answer["run"]["executor_s"], answer["shadow"]["executor_s"]) == (600, 2400, 4 * 60 + 3 * 540)
    assert (answer["shadow"]["ups"], answer["shadow"]["downs"], answer["agreement"]["fewer"]) == (0, 1, pytest.approx(0.9))
    text = shown("readiness", "--file", tmp_path / "h.db")
    assert text.startswith("not ready\n") and "not ready: 0.167 h in shadow, 6 h are needed; leave it in shadow" in text
    assert "not ready: no prediction that it decides by was graded as right; policies without models (static, hpa, ds2 and the like) predict nothing" in text


def test_the_terms_of_the_job_count(shadow: Path) -> None:
    answer = found("readiness", "--file", shadow)
    assert answer["shadow_s"] > 0.05 * 6 * 3600
    assert "shadow_too_short" not in [each["code"] for each in answer["reasons"]]
    assert answer["shadow"]["executor_s"] < 0.8 * answer["run"]["executor_s"], "three to five executors would do, eight run"


def test_people_read_the_comparison_and_every_reason_has_a_remedy(shadow: Path) -> None:
    text = shown("readiness", "--file", shadow)
    for words in ("executor-seconds", "in shadow", "as it ran", "times scaled up", "promises broken", "of the time, fewer"):
        assert words in text
    assert text.splitlines()[0] in ("ready", "not ready") and "None" not in text
    assert set(REMEDIES) == set(READINESS_SAYS)


def test_only_the_part_in_shadow_is_looked_at(tmp_path: Path) -> None:
    active = [AutopilotChanged(at_s=reading(601.0).at_s, changes=(("mode", "shadow", "active"),)), decided(620.0, 2, 3, effect="asked", mode="active")]
    before = found("readiness", "--file", shadow_history(tmp_path / "before.db"))
    assert found("readiness", "--file", shadow_history(tmp_path / "after.db", active)) == before


def test_a_job_that_was_never_in_shadow_is_one_line(tmp_path: Path) -> None:
    active = written(tmp_path / "active.db", [started("active"), decided(0.0, mode="active", effect="asked")], [reading(0.0)])
    assert (
        shown("readiness", "--file", active).startswith("the policy never decided in shadow: ") and len(shown("readiness", "--file", active).splitlines()) == 1
    )
    assert found("readiness", "--file", active)["ready"] is False
    observed = written(tmp_path / "observed.db", [started("observe")], [reading(0.0)])
    assert shown("readiness", "--file", observed).startswith("not ready: nothing was decided: the mode is observe")
