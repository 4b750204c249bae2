import re
from dataclasses import fields
from pathlib import Path

import pytest
from jobfiles import RIGHT, loaded

from penstock.core.domain.autopilot import Autopilot, Floor
from penstock.core.domain.hours import Hours
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.profile import ProfileSeen
from penstock.core.errors import UserMistake
from penstock.core.policies.registry import POLICIES
from penstock.runtime.jobfile import scripted_autopilot
from penstock.runtime.jobfile.kinds import parse_hours
from penstock.runtime.jobfile.tables import AUTOPILOT_KEYS, AutopilotTable, CalendarTable

PAGE = Path(__file__).parents[3] / "docs" / "job-file.md"

WHOLE = """
mode = "active"
policy = "daedalus"
only = "up"
max_step = 4
quota_executors = 6
fallback_executors = 5
hours = ["mon-fri 08:00-18:00"]
exclude = ["sat-sun", "22:00-06:00"]
guards = "on"
rollback = false
downtime = "110s"
executor_cpu_cores = 0.5
time_scale = 0.1
ask_expiry = "5m"
ask_quiet = 30
down_stable = "1m30s"
broken_after = "2m"
rollback_broken = 5
rollback_pause = "2h"
blind = "1m"
[autopilot.parameters]
grace_s = "2m"
failures_too = true
[[autopilot.calendar]]
name = "sale"
hours = "fri 18:00-22:00"
min_executors = 7
[[autopilot.calendar]]
name = "launch"
from = 2026-11-27T18:00:00+01:00
until = 2026-11-28T00:00:00Z
lead = "10m"
min_executors = 8
"""


def said(folder: Path, autopilot: str, job: str = RIGHT, **environ: str) -> str:
    with pytest.raises(UserMistake) as caught:
        loaded(folder, autopilot, job=job, **environ)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{folder}/job.toml: ")


def test_every_key_arrives_in_the_core(tmp_path: Path) -> None:
    spec = loaded(tmp_path, WHOLE).spec
    assert spec.mode == "active"
    assert spec.autopilot == Autopilot(
        mode="active", policy="daedalus", parameters={"grace_s": 120.0, "failures_too": True}, only="up", max_step=4, quota_executors=6,
        hours=(Hours(days=(0, 1, 2, 3, 4), from_s=8 * 3600.0, until_s=18 * 3600.0),),
        exclude=(Hours(days=(5, 6)), Hours(from_s=22 * 3600.0, until_s=6 * 3600.0)),
        calendar=(
            Floor(name="sale", min_executors=7, hours=(Hours(days=(4,), from_s=18 * 3600.0, until_s=22 * 3600.0),)),
            Floor(name="launch", min_executors=8, from_s=1_795_798_800.0, until_s=1_795_824_000.0, lead_s=600.0),
        ),
        guards="on", downtime_s=110.0, executor_cpu_cores=0.5, fallback_executors=5, rollback=False, time_scale=0.1, ask_expiry_s=300.0, ask_quiet_s=30.0,
        down_stable_s=90.0, broken_after_s=120.0, rollback_broken=5, rollback_s=7200.0, blind_s=60.0,
    )  # fmt: skip


def test_a_file_without_a_word_about_it_only_observes(tmp_path: Path) -> None:
    assert loaded(tmp_path).spec.autopilot == Autopilot() and loaded(tmp_path).spec.profile == ()


def test_every_key_of_autopilot_is_checked_and_explained() -> None:
    """The table has a key for every field of the core, and the page a row for every key."""
    assert set(AUTOPILOT_KEYS) == {each.name for each in fields(Autopilot)}
    of_a_simulated_engine = {"downtimes", "detection"}
    assert set(AUTOPILOT_KEYS.values()) - of_a_simulated_engine == set(AutopilotTable.model_fields) - {"profile"}
    page = PAGE.read_text()
    rows = "".join(re.findall(r"^\| (`.+?`) \|", page, re.MULTILINE))
    assert [key for key in AutopilotTable.model_fields if f"`{key}`" not in rows] == []
    assert [field.alias or key for key, field in CalendarTable.model_fields.items() if f"`{field.alias or key}`" not in page] == []


@pytest.mark.parametrize("key", [key for key in AutopilotTable.model_fields if key not in ("parameters", "calendar")])
def test_a_value_that_no_key_takes_is_named_with_what_is_allowed(tmp_path: Path, key: str) -> None:
    found = said(tmp_path, f"{key} = {{}}")
    assert found.startswith(f"autopilot.{key}: found an empty table, ") and found.endswith(" is allowed")


WRONG = [
    ('mode = "activ"', 'autopilot.mode: found "activ", one of "observe", "shadow", "ask", "active" is allowed'),
    ('mdoe = "ask"', 'autopilot.mdoe: unknown key, did you mean "mode"?'),
    ('ask_expiry_s = "5m"', 'autopilot.ask_expiry_s: unknown key, did you mean "ask_expiry"?'),
    ('policy = "dedalus"', 'autopilot.policy: found "dedalus", there is no such policy; did you mean "daedalus"?'),
    ('policy = "x"', f'autopilot.policy: found "x", there is no such policy; there are {", ".join(POLICIES)}'),
    ('policy = "half.py:"', 'autopilot.policy: found "half.py:", the name of a policy, or "file.py:Class" for one of your own, is allowed'),
    ('ask_expiry = "soon"', 'autopilot.ask_expiry: found "soon", a number, or a duration such as "5s", from 0 to 86400 seconds is allowed'),
    ("time_scale = 2", "autopilot.time_scale: found 2, a number from 0.001 to 1 is allowed"),
    ("rollback_broken = 1.5", "autopilot.rollback_broken: found 1.5, a whole number from 1 to 1000 is allowed"),
    ("rollback = 1", "autopilot.rollback: found 1, true or false is allowed"),
    ("max_step = 0", "autopilot.max_step: found 0, a whole number of at least 1 is allowed"),
    (
        'hours = ["mon-fir"]',
        'autopilot.hours: found ["mon-fir"], hours of the week in UTC such as ["mon-fri 08:00-18:00", "sat-sun", "22:00-06:00"] is allowed',
    ),
    ('policy = "phoebe"', 'autopilot.profile: missing, the policy phoebe decides by a profile of the job: name its file, or policy = "auto"'),
    ('policy = "twres"\nprofile = 5', "autopilot.profile: found 5, the path of a CSV file is allowed"),
    ("calendar = 5", "autopilot.calendar: found 5, a list of tables ([[autopilot.calendar]]) is allowed"),
    ("calendar = [5]", "autopilot.calendar.0: found 5, a table is allowed"),
    ("parameters = 5", "autopilot.parameters: found 5, a table is allowed"),
    ("quota_executors = 1", "autopilot.quota_executors: found 1, at least limits.min_executors (2) is allowed"),
    ("fallback_executors = 9", "autopilot.fallback_executors: found 9, a whole number from limits.min_executors (2) to limits.max_executors (8) is allowed"),
]


@pytest.mark.parametrize(("text", "line"), WRONG)
def test_a_wrong_value_is_one_line(tmp_path: Path, text: str, line: str) -> None:
    assert said(tmp_path, text) == line


EVENTS = [
    ("min_executors = 3", "autopilot.calendar.0.name: missing, a name is needed"),
    ('name = "a"\nmin_executors = 3', "autopilot.calendar.0: found neither hours nor from and until, one of the two is needed"),
    ('name = "a"\nhours = ["sat"]\nmin_executors = 9', "autopilot.calendar.0.min_executors: found 9, at most limits.max_executors (8) is allowed"),
    (
        'name = "a"\nmin_executors = 3\nfrom = 2026-11-27T18:00:00',
        "autopilot.calendar.0.from: found 2026-11-27 18:00:00, a time with its offset such as 2026-11-27T18:00:00+01:00 is allowed",
    ),
    (
        'name = "a"\nmin_executors = 3\nfrom = 2026-11-27T18:00:00Z\nuntil = 2026-11-27T18:00:00+01:00',
        "autopilot.calendar.0.until: found 2026-11-27 18:00:00+01:00, a time after from (2026-11-27 18:00:00+00:00) is allowed",
    ),
    ('name = "a"\nhours = "sat"\nmin_executors = 3\nuntill = 5', 'autopilot.calendar.0.untill: unknown key, did you mean "until"?'),
    ('name = "a"\nhours = "sat"\nmin_executors = 3\nfrm = 5', 'autopilot.calendar.0.frm: unknown key, did you mean "from"?'),
]


@pytest.mark.parametrize(("text", "line"), EVENTS)
def test_a_known_event_that_cannot_be_is_one_line(tmp_path: Path, text: str, line: str) -> None:
    assert said(tmp_path, f"[[autopilot.calendar]]\n{text}") == line


def test_two_events_of_one_name_are_refused(tmp_path: Path) -> None:
    event = '[[autopilot.calendar]]\nname = "sale"\nhours = "sat"\nmin_executors = 3\n'
    assert said(tmp_path, event + event) == 'autopilot.calendar.1.name: found "sale" twice, each name once is allowed'


@pytest.mark.parametrize(
    ("written", "hours"),
    [
        ("mon-fri 08:00-18:00", Hours(days=(0, 1, 2, 3, 4), from_s=28800.0, until_s=64800.0)),
        ("sat-sun", Hours(days=(5, 6))),
        ("22:00-06:00", Hours(from_s=79200.0, until_s=21600.0)),
        ("Mon, Wed - Thu  8:30 - 24:00", Hours(days=(0, 2, 3), from_s=30600.0, until_s=86400.0)),
        ("sat-mon", Hours(days=(0, 5, 6))),
        ("sun", Hours(days=(6,))),
        ("22:00-00:00", Hours(from_s=79200.0, until_s=0.0)),
    ],
)
def test_days_and_hours_are_read(written: str, hours: Hours) -> None:
    assert parse_hours(written) == hours


@pytest.mark.parametrize(
    "written", ["", " ", "monday", "mon-", "-fri", "mon-fri 8-18", "25:00-26:00", "08:60-09:00", "08:00", "08:00-08:00", "24:00-06:00", "08:00-18:00 mon", "a"]
)
def test_what_are_no_hours_is_refused(written: str) -> None:
    with pytest.raises(ValueError):
        parse_hours(written)


def test_hours_past_midnight_end_on_the_next_day() -> None:
    thursday_23, friday_05, friday_23 = 23 * 3600.0, 29 * 3600.0, 47 * 3600.0
    night = parse_hours("thu 22:00-06:00")
    assert [night.hold(at_s) for at_s in (thursday_23, friday_05, friday_23)] == [True, True, False]


def test_an_unknown_parameter_names_the_nearest(tmp_path: Path) -> None:
    parameters = 'policy = "daedalus"\n[autopilot.parameters]\n'
    assert said(tmp_path, f"{parameters}grace = 5") == 'autopilot.parameters.grace: the policy daedalus has no such parameter; did you mean "grace_s"?'
    assert said(tmp_path, f"{parameters}grace_s = -1") == (
        'autopilot.parameters.grace_s: found -1, a number, or a duration such as "5s", from 0 to 86400 seconds is allowed'
    )
    assert said(tmp_path, f"{parameters}failures_too = 1") == "autopilot.parameters.failures_too: found 1, true or false is allowed"


def test_wrong_limits_or_a_policy_that_does_not_exist_are_the_only_line_about_them(tmp_path: Path) -> None:
    job = RIGHT.replace("max_executors = 8", 'max_executors = "many"')
    assert said(tmp_path, "fallback_executors = 7", job) == 'limits.max_executors: found "many", a whole number of at least 1 is allowed'
    assert "more" not in said(tmp_path, 'policy = "dedalus"\n[autopilot.parameters]\ngrace_s = 5')


def test_a_profile_is_read_beside_the_job_file_and_one_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "profile.csv").write_text("scaleout,rate,latency_ms,valid\n1,100,250,true\n2,400,900,\n")
    assert loaded(tmp_path, 'profile = "profile.csv"').spec.profile == (
        ProfileSeen(executors=1, rate_rows_per_s=100.0, latency_s=0.25, valid=True),
        ProfileSeen(executors=2, rate_rows_per_s=400.0, latency_s=0.9, valid=None),
    )
    assert said(tmp_path, 'profile = "none.csv"') == f"autopilot.profile: {tmp_path}/none.csv: No such file or directory"
    (tmp_path / "half.csv").write_text("scaleout,rate\n1,100\n")
    assert said(tmp_path, 'profile = "half.csv"').startswith(f"autopilot.profile: {tmp_path}/half.csv: the column latency_ms is missing")


def test_what_a_secret_resolves_to_is_shown_by_no_mistake_of_the_autopilot(tmp_path: Path) -> None:
    secret = "hunter2-never-to-be-seen"
    for text in (
        'policy = "${env:S}"', 'policy = "${env:S}.py:Half"', 'profile = "${env:S}.csv"', 'hours = ["${env:S}"]',
        '[autopilot.parameters]\nperiod_s = "${env:S}"', 'quota_executors = "${env:S}"',
    ):  # fmt: skip
        found = said(tmp_path, text, S=secret)
        assert secret not in found and "${env:S}" in found
    assert "7" not in said(tmp_path, "fallback_executors = 9", RIGHT.replace("= 8", '= "${env:MOST}"'), MOST="7")


def test_a_promise_below_the_downtime_or_a_trigger_is_refused_before_the_start(tmp_path: Path) -> None:
    job = '[promises]\nrecovery = "90s"\n' + RIGHT
    assert said(tmp_path, 'downtime = "90s"', job) == (
        'promises.recovery: found "90s", no number of executors can keep it: more than autopilot.downtime ("90s") is allowed'
    )
    assert loaded(tmp_path, 'downtime = "89s"', job=job).spec.promises.recovery_s == 90
    job = '[promises]\nlatency_p95 = "4s"\n' + RIGHT
    assert said(tmp_path, "", job) == 'promises.latency_p95: found "4s", no number of executors can keep it: at least queries.counted.trigger ("5s") is allowed'
    for trigger in ('"4s"', '"asap"', '{ real_time = "15s" }', '"available-now"'):
        assert loaded(tmp_path, job=job.replace('"5s"', trigger)).spec.promises.latency_p95_s == 4


def test_a_script_says_the_same_with_the_same_words() -> None:
    limits = Limits(min_executors=1, max_executors=4)
    autopilot, profile = scripted_autopilot(
        {"mode": "ask", "policy": "hpa", "parameters": {"target": 0.6}, "ask_expiry": 60, "exclude": ("sat-sun",)}, limits, Promises(), Path()
    )
    assert autopilot == Autopilot(mode="ask", policy="hpa", parameters={"target": 0.6}, ask_expiry_s=60.0, exclude=(Hours(days=(5, 6)),))
    assert profile == ()


def test_a_script_gets_all_its_mistakes_a_line_each() -> None:
    given = {"mode": "activ", "policy": "dedalus", "fallback_executors": 9, "downtime": "90s"}
    with pytest.raises(UserMistake) as caught:
        scripted_autopilot(given, Limits(max_executors=4), Promises(recovery_s=60.0), Path())
    assert str(caught.value).splitlines() == [
        'autopilot.mode: found "activ", one of "observe", "shadow", "ask", "active" is allowed',
        'autopilot.policy: found "dedalus", there is no such policy; did you mean "daedalus"?',
        "autopilot.fallback_executors: found 9, a whole number from limits.min_executors (1) to limits.max_executors (4) is allowed",
        "recovery_s: found 60, no number of executors can keep it: more than autopilot.downtime is allowed",
    ]
    with pytest.raises(UserMistake, match="autopilot: found 5, a table is allowed"):
        scripted_autopilot(5, Limits(), Promises(), Path())  # type: ignore[arg-type]


def test_the_example_of_the_page_is_right(tmp_path: Path) -> None:
    example = next(block for block in re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL) if "[[autopilot.calendar]]" in block)
    autopilot = loaded(tmp_path, example.replace("[autopilot]\n", "")).spec.autopilot
    assert (autopilot.mode, autopilot.parameters, autopilot.calendar[0].name) == ("active", {"grace_s": 120.0}, "sale")
