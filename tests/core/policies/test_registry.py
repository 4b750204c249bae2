import re
from pathlib import Path
from typing import Any, get_args

import pytest
from assessed import under
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.cli.generated_pages import renewed
from penstock.core.domain.autopilot import Autopilot
from penstock.core.errors import UserMistake
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.policy import Need, Policy
from penstock.core.knowledge.terms import Terms
from penstock.core.policies.daedalus import Daedalus
from penstock.core.policies.registry import MAIN, POLICIES, labelled, labels_in, parameters_of, policy_of

PAGE = Path(__file__).parents[3] / "docs" / "policies.md"


def asked(policy: str, time_scale: float = 1.0, **parameters: float) -> Any:
    return policy_of(Terms(autopilot=Autopilot(policy=policy, parameters=parameters, time_scale=time_scale)))


def mistake(policy: str, **parameters: float) -> str:
    with pytest.raises(UserMistake) as raised:
        asked(policy, **parameters)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_the_policies_of_the_papers_and_of_production_are_there() -> None:
    published = {"daedalus", "phoebe", "hpa", "hpa_paper", "reactive", "twres", "ds2", "spark_dra", "trigger_dra", "elastic"}
    assert set(POLICIES) == published | {"static", "lookahead", "auto"}


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_bears_its_name_and_says_what_it_needs(name: str) -> None:
    policy: Policy = asked(name)
    assert policy.name == name
    assert policy.period_s > 0
    assert policy.needs <= set(get_args(Need))


@pytest.mark.parametrize("name", POLICIES)
def test_every_parameter_has_a_default_within_its_bounds_and_a_meaning(name: str) -> None:
    assert "period_s" in parameters_of(name)
    for each in parameters_of(name).values():
        assert each.metadata["lowest"] <= each.default <= each.metadata["highest"]
        assert len(each.metadata["meaning"]) > 10


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=10)
@given(time_scale=st.floats(0.001, 1.0))
def test_timers_live_in_the_time_of_the_job_and_nothing_else_does(name: str, time_scale: float) -> None:
    usual, quick = asked(name), asked(name, time_scale)
    for parameter, each in parameters_of(name).items():
        scale = time_scale if each.metadata["scales"] else 1.0
        assert getattr(quick, parameter) == scale * getattr(usual, parameter)


def test_targets_and_limits_are_not_times_of_the_job() -> None:
    unscaled = {parameter for name in POLICIES for parameter, each in parameters_of(name).items() if not each.metadata["scales"]}
    assert {"target_recovery_s", "latency_limit_s", "target", "bins", "executors"} <= unscaled
    assert {"catch_up_s", "restart_s", "backlog_s"} <= {parameter for parameter, each in parameters_of("ds2").items() if not each.metadata["scales"]}


def test_a_parameter_takes_the_place_of_its_default_and_is_scaled_as_it_would_be() -> None:
    assert isinstance(asked("phoebe", bins=5.0).bins, int), "a count is a whole number"
    policy = asked("daedalus", 0.5, grace_s=120.0, target_recovery_s=90.0)
    assert policy == Daedalus(grace_s=60.0, target_recovery_s=90.0, period_s=30.0, recent_s=300.0, soon_s=30.0, horizon_s=450.0)


def test_a_bare_number_sets_the_main_parameter_and_targets_are_percent() -> None:
    assert labelled("hpa(85)").parameters == {"target": 0.85} and labelled("static(24)").parameters == {"executors": 24.0}
    assert all(parameter in parameters_of(name) for name, (parameter, _) in MAIN.items())


def test_a_label_puts_its_policy_in_force_with_its_parameters() -> None:
    chosen = labelled("daedalus(grace_s=60, failures_too=true)")
    autopilot = chosen.on(Autopilot(policy="hpa", parameters={"target": 0.5}))
    assert policy_of(Terms(autopilot=autopilot)) == Daedalus(grace_s=60.0, failures_too=True) and autopilot.mode == "active"


@pytest.mark.parametrize("name", POLICIES)
def test_the_name_of_a_policy_is_its_plainest_label(name: str) -> None:
    assert labels_in(name) == (name,) and policy_of(Terms(autopilot=labelled(name).on(Autopilot()))) == asked(name)


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("hpa(80", "a name with parameters in parentheses"),
        ("", 'no policy ""'),
        ("dedalus", 'did you mean "daedalus"?'),
        ("daedalus(60)", "a bare number is for static, hpa"),
        ("hpa()", "a parameter is a number"),
        ("hpa(much)", "a parameter is a number"),
        ("hpa(tarjet=0.8)", 'did you mean "target"?'),
        ("hpa(0.8)", "target: found 0.008"),
    ],
)
def test_a_label_that_cannot_be_read_is_one_line(label: str, said: str) -> None:
    with pytest.raises(UserMistake, match=re.escape(said)):
        labelled(label)


MISTAKES: dict[str, tuple[str, dict[str, float]]] = {
    "parameters.bins: found 2.5, a whole number from 1 to 1000 is allowed": ("phoebe", {"bins": 2.5}),
    'policy: there is no policy "dedalus"; did you mean "daedalus"?': ("dedalus", {}),
    'parameters.grace: the policy daedalus has no such parameter; did you mean "grace_s"?': ("daedalus", {"grace": 1.0}),
    "parameters.colour: the policy static has no such parameter; there are period_s, executors": ("static", {"colour": 1.0}),
    "parameters.grace_s: found -1.0, a number from 0 to 86400 is allowed": ("daedalus", {"grace_s": -1.0}),
}


@pytest.mark.parametrize(("said", "asked_for"), MISTAKES.items(), ids=MISTAKES)
def test_a_mistake_is_one_line_that_names_the_nearest_or_the_bounds(said: str, asked_for: tuple[str, dict[str, float]]) -> None:
    policy, parameters = asked_for
    assert mistake(policy, **parameters) == f"autopilot.{said}"


def test_what_is_no_parameter_cannot_be_set() -> None:
    for name in ("name", "needs", "faithful"):
        assert "has no such parameter" in mistake("daedalus", **{name: 1.0})


def test_the_page_of_policies_is_as_they_are_declared() -> None:
    assert PAGE.read_text() == renewed(PAGE.read_text()), "renew it: .venv/bin/python -m penstock.cli.generated_pages"


def test_the_page_lists_every_policy() -> None:
    page = PAGE.read_text()
    assert [name for name in POLICIES if f"| `{name}` |" not in page] == []


def test_the_twenty_lines_of_the_page_run() -> None:
    lines = next(block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "class HalfFull" in block)
    assert 15 <= len([line for line in lines.splitlines() if line.strip()]) <= 30
    room: dict[str, Any] = {"__name__": "half_full"}
    exec(compile(lines, str(PAGE), "exec", dont_inherit=True), room)
    policy: Policy = room["HalfFull"]()
    seen: Assessment = under(350.0)
    assert (policy.decide(seen).executors, policy.decide(seen).policy) == (7, "half_full")
    assert policy.decide(under(700.0)).why.code == "none_passes"
