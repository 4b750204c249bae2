import re
from pathlib import Path
from typing import Any

import pytest
from assessed import under
from jobfiles import HALF_FULL, loaded

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.configuration import Configuration
from penstock.core.errors import UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.runtime.controller import Controller
from penstock.runtime.fakes import FakeClock, FakePlant
from penstock.runtime.jobfile import own_policy
from penstock.stores.in_memory import MemoryStore

REST = 'name = "mine"\n    period_s = 5.0\n    needs = frozenset({"load"})\n    faithful = False\n    def decide(self, seen): ...\n'


def write(folder: Path, text: str = HALF_FULL) -> str:
    """A file that no other test has, as modules are known by the names of their files."""
    file = f"policy_{folder.name}.py"
    (folder / file).write_text(text)
    return file


def mistake(folder: Path, text: str, name: str = "Mine", **parameters: float) -> str:
    file = write(folder, text)
    with pytest.raises(UserMistake) as caught:
        own_policy(Autopilot(policy=f"{file}:{name}", parameters=parameters), folder)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(file, "mine.py")


def test_it_is_found_beside_the_job_file_and_made_with_its_parameters_in_the_time_of_the_job(tmp_path: Path) -> None:
    file = write(tmp_path)
    spec = loaded(
        tmp_path, f'policy = "{file}:HalfFull"\ntime_scale = 0.5\n[autopilot.parameters]\nshare = 0.25\nspare = 2\neager = true\nperiod_s = "40s"'
    ).spec
    assert spec.autopilot.policy == f"{tmp_path}/{file}:HalfFull"
    policy: Any = own_policy(spec.autopilot, spec.folder)
    assert (policy.name, policy.period_s, policy.share, policy.spare) == ("half_full", 20.0, 0.25, 2)
    assert isinstance(policy.spare, int) and policy.eager is True
    assert policy.decide(under(100.0)).executors == 4


def test_one_of_a_module_is_found_too_one_that_is_not_there_is_named_and_one_of_penstock_is_none(tmp_path: Path) -> None:
    policy = own_policy(Autopilot(policy=f"{write(tmp_path).removesuffix('.py')}:HalfFull"), tmp_path)
    assert policy is not None and policy.name == "half_full" and own_policy(Autopilot(policy="daedalus")) is None
    with pytest.raises(UserMistake, match=r"autopilot\.policy: there is no module 'nowhere_to_be_found' here or in"):
        own_policy(Autopilot(policy="nowhere_to_be_found:Half"), tmp_path)


def test_a_plain_class_without_parameters_is_a_policy(tmp_path: Path) -> None:
    file = write(tmp_path, f"class Mine:\n    {REST}")
    policy = own_policy(Autopilot(policy=f"{file}:Mine", time_scale=0.5), tmp_path)
    assert policy is not None and (policy.name, policy.period_s) == ("mine", 5.0)


def test_the_controller_decides_by_it_and_the_history_says_its_name(tmp_path: Path) -> None:
    clock, memory = FakeClock(), MemoryStore()
    autopilot = Autopilot(mode="shadow", policy=f"{write(tmp_path)}:HalfFull")
    controller = Controller(
        source=(plant := FakePlant(clock, executors=2)), actuator=plant, memory=memory, clock=clock, terms=Terms(autopilot=autopilot),
        declared=Configuration(executors=2), policy=own_policy(autopilot, tmp_path),
    )  # fmt: skip
    controller.step()
    last = controller.knowledge.schedule.last
    assert last is not None and last.policy == "half_full"


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        ("none.py:Half", 'autopilot.policy: found "none.py:Half", but there is no file {folder}/none.py'),
        ("half:full:er", 'autopilot.policy: found "half:full:er", the name of a policy, or "file.py:Class" for one of your own, is allowed'),
    ],
)
def test_what_can_be_seen_without_the_code_is_said_by_the_job_file(tmp_path: Path, policy: str, line: str) -> None:
    with pytest.raises(UserMistake) as caught:
        loaded(tmp_path, f'policy = "{policy}"')
    assert str(caught.value) == f"{tmp_path}/job.toml: {line.format(folder=tmp_path)}"


def test_a_parameter_that_is_no_number_is_said_by_the_job_file(tmp_path: Path) -> None:
    file = write(tmp_path)
    for name, allowed in (("share", "a number, or true or false,"), ("period_s", 'a number, or a duration such as "5s",')):
        with pytest.raises(UserMistake) as caught:
            loaded(tmp_path, f'policy = "{file}:HalfFull"\n[autopilot.parameters]\n{name} = "much"')
        assert str(caught.value).endswith(f'autopilot.parameters.{name}: found "much", {allowed} is allowed')


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        (HALF_FULL, "HalfFul", "mine.py has no class 'HalfFul'; did you mean \"HalfFull\"?"),
        (HALF_FULL, "dataclass", "mine.py has no class 'dataclass'; there are HalfFull"),
        ("x = 1", "Mine", "mine.py has no class 'Mine'; there is none"),
        ("\nimport sys\nraise RuntimeError('no\\nway')\n", "Mine", "mine.py cannot be imported: RuntimeError: no way ({folder}/mine.py, line 3)"),
        ("x = 1\nclass Mine\n", "Mine", "mine.py cannot be imported: SyntaxError: expected ':' (mine.py, line 2)"),
    ],
    ids=["a name nearly right", "no class of the file", "no class at all", "an error", "no Python"],
)
def test_a_file_without_a_policy_of_that_name_is_one_line(tmp_path: Path, text: str, name: str, said: str) -> None:
    assert mistake(tmp_path, text, name) == f"autopilot.policy: {said.format(folder=tmp_path)}"


def test_a_file_that_leaves_at_once_and_a_class_that_cannot_be_made_are_one_line(tmp_path: Path) -> None:
    assert "cannot be imported: SystemExit: 3" in mistake(tmp_path, "import sys\nsys.exit(3)\n")
    unmade = mistake(tmp_path, f"class Mine:\n    def __init__(self, share): ...\n    {REST}")
    assert unmade.startswith("autopilot.policy: mine.py:Mine cannot be made: TypeError: ")


@pytest.mark.parametrize("part", ["name", "period_s", "needs", "faithful", "decide"])
def test_a_class_that_lacks_a_part_of_a_policy_is_one_line(tmp_path: Path, part: str) -> None:
    said = mistake(tmp_path, f"class Mine:\n    {REST}\n    del {part}\n")
    assert said == f"autopilot.policy: mine.py:Mine: it lacks {part}; a policy has name, period_s, needs, faithful and decide(seen)"


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ('name = "a:b"', "its name is 'a:b', a text without \":\" is needed"),
        ("period_s = 0", "its period_s is 0, a number of seconds above 0 is needed"),
        ('needs = {"luck"}', "its needs are {'luck'}, a set of load, capacity, regression, forecast, arima, latency, profile, boosting, stages is needed"),
        ("faithful = 1", "its faithful is 1, True or False is needed"),
        ("decide = None", "its decide is no function"),
    ],
)
def test_a_part_that_is_not_what_it_has_to_be_is_one_line(tmp_path: Path, part: str, said: str) -> None:
    assert mistake(tmp_path, f"class Mine:\n    {REST}\n    {part}\n") == f"autopilot.policy: mine.py:Mine: {said}"


def test_a_wrong_parameter_is_one_line(tmp_path: Path) -> None:
    def said(**parameters: float) -> str:
        return mistake(tmp_path, HALF_FULL, "HalfFull", **parameters)

    assert said(shar=1.0) == 'autopilot.parameters.shar: the policy HalfFull has no such parameter; did you mean "share"?'
    assert said(faithful=1.0).startswith("autopilot.parameters.faithful: the policy HalfFull has no such parameter; ")
    assert said(share=2.0) == "autopilot.parameters.share: found 2.0, a number from 0.01 to 1 is allowed"
    assert said(eager=1.0) == "autopilot.parameters.eager: found 1.0, true or false is allowed"
    assert said(spare=1.5) == "autopilot.parameters.spare: found 1.5, a whole number is allowed"


def test_a_class_that_is_no_dataclass_takes_no_parameters(tmp_path: Path) -> None:
    said = mistake(tmp_path, f"class Mine:\n    {REST}", share=1.0).removeprefix("autopilot.parameters.share: the policy Mine has no such parameter; ")
    assert said == "a parameter is a number, or true or false, among the fields of a dataclass, and it has none"


def test_the_policy_of_the_page_runs_from_the_job_file_of_the_page(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "policies.md").read_text()
    code = next(block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "class HalfFull" in block)
    table = next(block for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if "half_full.py:HalfFull" in block)
    (tmp_path / "half_full.py").write_text(code)
    policy: Any = own_policy(loaded(tmp_path, table.replace("[autopilot]\n", "")).spec.autopilot)
    assert (policy.name, policy.share) == ("half_full", 0.6)


def test_every_mistake_in_its_parameters_is_reported(tmp_path: Path) -> None:
    file = write(tmp_path)
    with pytest.raises(UserMistake) as caught:
        own_policy(Autopilot(policy=f"{file}:HalfFull", parameters={"share": 2.0, "shar": 1.0}), tmp_path)
    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == ["autopilot.parameters.share", "autopilot.parameters.shar"]
