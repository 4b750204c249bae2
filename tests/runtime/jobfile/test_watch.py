import os
from pathlib import Path

import pytest
from jobfiles import HALF_FULL, RIGHT, loaded, write

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.events.autopilot_events import AutopilotChanged, AutopilotRefused
from penstock.core.knowledge.terms import Terms
from penstock.runtime.controller import Controller
from penstock.runtime.fakes import EPOCH_S, FakeClock, FakePlant
from penstock.runtime.inbox import Reread
from penstock.runtime.jobfile import AutopilotWatch
from penstock.stores.in_memory import MemoryStore


def watch(folder: Path, autopilot: str = "", *, job: str = RIGHT, **environ: str) -> AutopilotWatch:
    """One of a job that runs with this file, after its first look."""
    looking = AutopilotWatch(loaded(folder, autopilot, job=job, **environ), FakeClock(), environ=environ)
    assert looking() is None
    return looking


def changed(found: Reread | None) -> AutopilotChanged:
    assert found is not None and isinstance(found.event, AutopilotChanged)
    return found.event


def refused(found: Reread | None) -> str:
    assert found is not None and isinstance(found.event, AutopilotRefused)
    assert (found.autopilot, found.profile) == (None, None)
    return found.event.reason


def test_a_changed_file_changes_the_mode_with_its_difference(tmp_path: Path) -> None:
    looking = watch(tmp_path)
    write(tmp_path, 'mode = "active"\nask_expiry = "5m"')
    found = looking()
    assert changed(found).changes == (("mode", "observe", "active"), ("ask_expiry", "10m", "5m"))
    assert changed(found).words() == "the job file changed: mode observe -> active; ask_expiry 10m -> 5m"
    assert found is not None and found.autopilot == Autopilot(mode="active", ask_expiry_s=300.0)
    assert (found.profile, found.event.at_s) == (None, EPOCH_S)
    assert looking() is None


def test_a_difference_is_counted_from_the_last_and_seen_also_before_the_first_look(tmp_path: Path) -> None:
    looking = watch(tmp_path)
    for mode, before in (("shadow", "observe"), ("ask", "shadow"), ("active", "ask")):
        write(tmp_path, f'mode = "{mode}"')
        assert changed(looking()).changes == (("mode", before, mode),)
    looking = AutopilotWatch(loaded(tmp_path), FakeClock())
    write(tmp_path, 'mode = "ask"')
    assert changed(looking()).changes == (("mode", "observe", "ask"),)


def test_parameters_and_known_events_are_named(tmp_path: Path) -> None:
    looking = watch(tmp_path, 'policy = "daedalus"\n[autopilot.parameters]\ngrace_s = 120\nrecent_s = 300')
    write(
        tmp_path,
        'policy = "daedalus"\nhours = ["mon-fri"]\n[autopilot.parameters]\ngrace_s = "1m"\nhorizon_s = 600\n'
        '[[autopilot.calendar]]\nname = "sale"\nhours = ["fri"]\nmin_executors = 6',
    )
    assert set(changed(looking()).changes) == {
        ("hours", "none", '["mon-fri"]'), ("parameters.grace_s", "120", "1m"), ("parameters.recent_s", "300", "none"),
        ("parameters.horizon_s", "none", "600"), ("calendar.sale", "none", '{ hours = ["fri"], min_executors = 6 }'),
    }  # fmt: skip


def test_a_file_that_stays_is_loaded_once_and_another_spelling_is_no_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looking = watch(tmp_path, 'ask_expiry = "10m"')
    write(tmp_path, "# nothing new\nask_expiry = 600")
    assert looking() is None
    looking = watch(tmp_path, 'mode = "shadow"')
    monkeypatch.setattr("penstock.runtime.jobfile.watch.load_job", lambda *_, **__: pytest.fail("it was read again"))
    assert [looking() for _ in range(3)] == [None] * 3


def test_other_tables_wait_for_a_restart_and_are_named_once(tmp_path: Path) -> None:
    looking = watch(tmp_path)
    more = RIGHT.replace("max_executors = 8", "max_executors = 9") + '[spark]\n"spark.x" = 1\n'
    write(tmp_path, job=more)
    found = looking()
    assert (changed(found).changes, changed(found).needs_restart) == ((), ("limits", "spark"))
    assert found is not None and found.autopilot is None
    write(tmp_path, "# a comment", job=more)
    assert looking() is None
    write(tmp_path, 'mode = "shadow"', job=more)
    assert changed(looking()).words() == "the job file changed: mode observe -> shadow; needs a restart: limits, spark"
    write(tmp_path, 'mode = "shadow"')
    undone = changed(looking())
    assert (undone.changes, undone.needs_restart) == ((), ())


def test_a_bad_file_keeps_the_old_and_says_so_once(tmp_path: Path) -> None:
    looking = watch(tmp_path, 'mode = "shadow"')
    path = write(tmp_path, 'mode = "activ"')
    assert refused(looking()) == f'{path}: autopilot.mode: found "activ", one of "observe", "shadow", "ask", "active" is allowed'
    os.utime(path, ns=(1, 1))
    assert looking() is None
    write(tmp_path, 'mode = "actve"')
    assert '"actve"' in refused(looking())
    write(tmp_path, 'mode = "shadow"')
    assert looking() is None
    write(tmp_path, 'mode = "activ"')
    assert '"activ"' in refused(looking())
    write(tmp_path, 'mode = "active"')
    assert changed(looking()).changes == (("mode", "shadow", "active"),)


def test_a_file_written_in_two_steps_is_refused_and_then_taken(tmp_path: Path) -> None:
    looking = watch(tmp_path)
    whole = write(tmp_path, 'mode = "active"').read_text()
    (tmp_path / "job.toml").write_text(whole[: len(whole) // 2])
    assert refused(looking())
    (tmp_path / "job.toml").write_text(whole)
    assert changed(looking()).changes == (("mode", "observe", "active"),)


def test_a_file_replaced_by_rename_is_taken(tmp_path: Path) -> None:
    looking = watch(tmp_path, 'mode = "shadow"')
    path, new = tmp_path / "job.toml", tmp_path / "job.toml.new"
    before = path.stat()
    new.write_text(path.read_text().replace('"shadow"', '"active"'))
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    new.rename(path)
    assert changed(looking()).changes == (("mode", "shadow", "active"),)


def test_a_file_that_is_gone_keeps_the_old_and_is_reported_once(tmp_path: Path) -> None:
    looking = watch(tmp_path, 'mode = "shadow"')
    path = tmp_path / "job.toml"
    text = path.read_text()
    path.unlink()
    assert refused(looking()) == f"{path}: the file is gone" and looking() is None
    path.write_text(text)
    assert looking() is None
    path.unlink()
    assert refused(looking()) == f"{path}: the file is gone"


def test_no_secret_is_in_the_event(tmp_path: Path) -> None:
    secret = "daedalus"
    looking = watch(tmp_path, S=secret)
    write(tmp_path, 'policy = "${env:S}"')
    found = looking()
    assert changed(found).changes == (("policy", "auto", "${env:S}"),)
    assert found is not None and found.autopilot is not None and found.autopilot.policy == secret


def test_what_the_limits_of_the_running_job_do_not_allow_is_refused(tmp_path: Path) -> None:
    looking = watch(tmp_path)
    path = write(tmp_path, 'mode = "ask"\nfallback_executors = 12', job=RIGHT.replace("max_executors = 8", "max_executors = 20"))
    assert refused(looking()) == (
        f"{path}: autopilot.fallback_executors: a whole number from limits.min_executors (2) to limits.max_executors (8) is allowed while the job runs; "
        "other limits need a restart"
    )


def test_a_profile_that_comes_later_is_handed_over(tmp_path: Path) -> None:
    looking = watch(tmp_path)
    (tmp_path / "p.csv").write_text("scaleout,rate,latency_ms\n2,100,250\n")
    write(tmp_path, 'profile = "p.csv"')
    found = looking()
    assert changed(found).changes == (("profile", "none", "p.csv"),)
    assert found is not None and found.profile is not None and [each.executors for each in found.profile] == [2]


def test_a_change_to_an_own_policy_waits_for_a_restart_and_the_rest_is_followed(tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text(HALF_FULL)
    looking = watch(tmp_path, 'policy = "daedalus"\n[autopilot.parameters]\ngrace_s = 60')
    write(tmp_path, 'mode = "shadow"\npolicy = "half.py:HalfFull"\ntime_scale = 0.5')
    found = looking()
    assert changed(found).changes == (("mode", "observe", "shadow"), ("time_scale", "1", "0.5"))
    assert changed(found).needs_restart == ("autopilot.policy", "autopilot.parameters")
    assert found is not None and found.autopilot == Autopilot(mode="shadow", policy="daedalus", parameters={"grace_s": 60.0}, time_scale=0.5)
    write(tmp_path, 'mode = "shadow"\npolicy = "hpa"\ntime_scale = 0.5')
    assert changed(looking()).changes == (("policy", "daedalus", "hpa"), ("parameters.grace_s", "60", "none"))


def test_an_own_policy_that_runs_stays_with_its_parameters_and_its_time(tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text(HALF_FULL)
    own = 'policy = "half.py:HalfFull"'
    looking = watch(tmp_path, own)
    write(tmp_path, f'mode = "active"\n{own}\ntime_scale = 0.5\n[autopilot.parameters]\nshare = 0.7')
    found = looking()
    assert (changed(found).changes, changed(found).needs_restart) == ((("mode", "observe", "active"),), ("autopilot.parameters", "autopilot.time_scale"))
    assert found is not None and found.autopilot == Autopilot(mode="active", policy=f"{tmp_path}/half.py:HalfFull")
    write(tmp_path, 'mode = "active"\npolicy = "static"')
    assert changed(looking()).needs_restart == ("autopilot.policy",)
    write(tmp_path, f'mode = "active"\n{own}')
    assert changed(looking()).needs_restart == ()


def test_what_can_be_read_but_once_is_not_looked_at_again(tmp_path: Path) -> None:
    job = loaded(tmp_path)
    job.path.unlink()
    os.mkfifo(job.path)
    assert AutopilotWatch(job, FakeClock())() is None


def test_a_running_controller_follows_the_file(tmp_path: Path) -> None:
    clock, memory = FakeClock(), MemoryStore()
    job = loaded(tmp_path)
    plant = FakePlant(clock, executors=4)
    terms = Terms(limits=job.spec.limits, autopilot=job.spec.autopilot)
    controller = Controller(
        source=plant, actuator=plant, memory=memory, clock=clock, terms=terms, declared=Configuration(executors=4), reread=AutopilotWatch(job, clock)
    )
    modes = []
    for text in ("", 'mode = "shadow"\npolicy = "static"'):
        write(tmp_path, text)
        controller.step()
        modes.append(controller.knowledge.schedule.mode)
    assert modes == ["observe", "shadow"]
    last = controller.knowledge.schedule.last
    assert last is not None and last.policy == "static"
    assert [event.words() for event in memory.events if isinstance(event, AutopilotChanged)] == [
        "the job file changed: mode observe -> shadow; policy auto -> static"
    ]
