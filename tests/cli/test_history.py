from dataclasses import asdict
from pathlib import Path

from asked import drawn, found, mistake, shown
from recorded_history import decided, reading, shadow_history, simulated, written

from penstock.cli.history import recorded_by
from penstock.stores.recorder import Recorder, this_penstock


def lines(*arguments: object) -> list[str]:
    return shown("history", *arguments, columns=160).splitlines()


def test_routine_events_are_counted_and_shown_when_all_are_wanted(tmp_path: Path) -> None:
    path = shadow_history(tmp_path / "h.db")
    few, whole = lines("--file", path, "--events"), lines("--file", path, "--events", "--all")
    assert sum("auto:daedalus: executors 4 -> 3" in line for line in few) == 1 and not any("would keep" in line for line in few)
    assert few[-1].startswith("11 routine events ")
    assert sum("would keep" in line for line in whole) == 10 and sum("load 60 s ahead was predicted" in line for line in whole) == 1
    assert not any("routine events" in line for line in whole)


def test_the_object_holds_them_all_as_json_knows_them_and_a_bad_duration_is_one_line(tmp_path: Path) -> None:
    decided = [each for each in found("history", "--file", shadow_history(tmp_path / "h.db"))["events"] if each["kind"] == "Decided"]
    assert len(decided) == 11 and decided[1]["decision"]["candidates"][0]["recovery_s"] is None
    assert mistake("history", "--file", shadow_history(tmp_path / "h.db"), "--last", "x").startswith("--last: found 'x'")


def test_it_says_which_penstock_recorded_it_where_that_is_known(tmp_path: Path) -> None:
    known, unknown = simulated(tmp_path / "known.db", minutes=5), shadow_history(tmp_path / "unknown.db")
    assert lines("--file", known)[0].endswith(f"recorded by Penstock {this_penstock()}") and lines("--file", unknown)[0].endswith("events")
    assert found("history", "--file", known)["recorded_by"] == [asdict(this_penstock())] and found("history", "--file", unknown)["recorded_by"] == []
    several = [Recorder(version=version) for version in ("0.1.0", "0.2.0", "0.3.0")]
    assert recorded_by(several) == ", recorded by Penstock 0.3.0, and 2 others before"


def test_a_shadow_is_drawn_beside_what_ran(tmp_path: Path) -> None:
    assert "wanted by the policy" in drawn(tmp_path, "history", "--file", shadow_history(tmp_path / "h.db"))
    agreed = written(tmp_path / "g.db", [decided(0.0, 4, 4, effect="kept")], [reading(15.0 * number) for number in range(9)])
    assert "wanted by the policy" not in drawn(tmp_path, "history", "--file", agreed)
