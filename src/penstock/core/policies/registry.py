"""All policies by name, and the one that a job's terms ask for."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import Field, fields, is_dataclass, replace
from difflib import get_close_matches
from typing import Any

from penstock.core.domain.autopilot import Chosen
from penstock.core.errors import UserMistake
from penstock.core.knowledge.policy import Policy
from penstock.core.knowledge.terms import Terms
from penstock.core.policies.auto import Auto
from penstock.core.policies.baselines import Static, Twres
from penstock.core.policies.daedalus import Daedalus
from penstock.core.policies.ds2 import Ds2
from penstock.core.policies.elastic import Elastic
from penstock.core.policies.hpa import Hpa, HpaPaper, Reactive
from penstock.core.policies.lookahead import Lookahead
from penstock.core.policies.phoebe import Phoebe
from penstock.core.policies.spark_dra import SparkDra
from penstock.core.policies.trigger_dra import TriggerDra
from penstock.core.settings import check

POLICIES: Mapping[str, type[Policy]] = {
    "auto": Auto,
    "lookahead": Lookahead,
    "daedalus": Daedalus,
    "phoebe": Phoebe,
    "static": Static,
    "hpa": Hpa,
    "hpa_paper": HpaPaper,
    "reactive": Reactive,
    "twres": Twres,
    "ds2": Ds2,
    "spark_dra": SparkDra,
    "trigger_dra": TriggerDra,
    "elastic": Elastic,
}
PROFILED = frozenset({"phoebe", "twres"})
"""Those that never decide without a profile of the job."""
MAIN = {"static": ("executors", 1.0), "hpa": ("target", 0.01), "hpa_paper": ("target", 0.01), "reactive": ("target", 0.01)}
"""The parameter that a bare number in a label sets, and its unit: `hpa(80)` has the target 0.8."""

LABEL = re.compile(r"\s*(?P<name>\w*)\s*(?:\((?P<inside>[^()]*)\))?\s*")
LABELS = "hpa(80), daedalus(grace_s=60)"


def policy_of(terms: Terms) -> Policy:
    """Return the policy that the terms name, with its owner's parameters, in the job's own time.

    >>> from penstock.core.domain.autopilot import Autopilot
    >>> asked = policy_of(Terms(autopilot=Autopilot(policy="daedalus", parameters={"grace_s": 120.0}, time_scale=0.5)))
    >>> asked.name, asked.period_s, asked.grace_s
    ('daedalus', 30.0, 60.0)
    """
    autopilot = terms.autopilot
    policy: Policy = in_time(with_parameters(autopilot.policy, autopilot.parameters), autopilot.time_scale)
    return policy


def with_parameters(name: str, parameters: Mapping[str, float | bool]) -> Policy:
    """Return a policy by its name with these parameters; raise `UserMistake` for a name, a parameter or a value that is not allowed."""
    if name not in POLICIES:
        raise UserMistake(f'autopilot.policy: there is no policy "{name}"; {nearest(name, POLICIES)}')
    declared = parameters_of(name)
    for parameter, value in parameters.items():
        if parameter not in declared:
            raise UserMistake(f"autopilot.parameters.{parameter}: the policy {name} has no such parameter; {nearest(parameter, declared)}")
        check(POLICIES[name], "autopilot.parameters", parameter, value)
    kinds: dict[str, Any] = {each: type(declared[each].default) for each in parameters}
    given = {each: kinds[each](value) for each, value in parameters.items()}
    named: Any = POLICIES[name]
    policy: Policy = named(**given)
    return policy


def labelled(label: str) -> Chosen:
    """Return the policy that a label names; raise `UserMistake` for a label that is not allowed.

    >>> labelled("hpa(80)"), labelled("daedalus(grace_s=60, failures_too=true)").parameters
    (Chosen(name='hpa', parameters={'target': 0.8}), {'grace_s': 60.0, 'failures_too': True})
    """
    found = LABEL.fullmatch(label)
    if not found:
        raise UserMistake(f'policy: found "{label}"; a name with parameters in parentheses is allowed: {LABELS}')
    name, inside = found["name"], found["inside"]
    if name not in POLICIES:
        raise UserMistake(f'policy: there is no policy "{name}"; {nearest(name, POLICIES)}')
    parameters = dict[str, float | bool]()
    for part in () if inside is None else inside.split(","):
        parameter, equals, text = (each.strip() for each in part.rpartition("="))
        if not equals and name not in MAIN:
            raise UserMistake(f'policy: found "{label}"; a bare number is for {", ".join(MAIN)}, other parameters have names: {LABELS}')
        parameter, unit = (parameter, 1.0) if equals else MAIN[name]
        try:
            parameters[parameter] = text == "true" if text in ("true", "false") else round(unit * float(text), 9)
        except ValueError:
            raise UserMistake(f'policy: found "{label}"; a parameter is a number, or true or false: {LABELS}') from None
    with_parameters(name, parameters)
    return Chosen(name=name, parameters=parameters)


def labels_in(text: str) -> tuple[str, ...]:
    """Return the labels of a list; commas within parentheses belong to a label.

    >>> labels_in("hpa(80), auto,daedalus(grace_s=60, soon_s=30)")
    ('hpa(80)', 'auto', 'daedalus(grace_s=60, soon_s=30)')
    """
    return tuple(each.strip() for each in re.split(r",(?![^()]*\))", text))


def parameters_of(name: str) -> Mapping[str, Field[Any]]:
    """Return what can be set of a policy: the fields that it declares with a meaning."""
    declared: Any = POLICIES[name]
    return {each.name: each for each in fields(declared) if "meaning" in each.metadata}


def in_time(policy: Any, time_scale: float) -> Any:
    """Return a policy with scaled timers, its own and those of the policies that it holds."""
    scaled = {}
    for each in fields(policy):
        value = getattr(policy, each.name)
        if each.metadata.get("scales"):
            scaled[each.name] = time_scale * value
        elif is_dataclass(value):
            scaled[each.name] = in_time(value, time_scale)
    return replace(policy, **scaled)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a suggestion for a misspelt name, else all names.

    >>> nearest("dedalus", POLICIES), nearest("colour", ["period_s"])
    ('did you mean "daedalus"?', 'there are period_s')
    """
    known = list(known)
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    return f'did you mean "{close[0]}"?' if close else f"there are {', '.join(known)}"
