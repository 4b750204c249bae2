"""Generate docs/settings.md, docs/knobs.md and the parameter tables of docs/policies.md: .venv/bin/python -m penstock.cli.generated_pages"""

from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from penstock.core.config import Config
from penstock.core.domain.knobs import KNOBS
from penstock.core.policies.registry import POLICIES, parameters_of

HEADER = """\
# Settings

Set in a job file, or by a keyword of `penstock.start` and `penstock.attach`:

    [settings]
    reading_interval_s = 2

The unit is in the name: `_s` is seconds, `_mb` megabytes. Values outside the bounds are refused.
This page is generated from `src/penstock/core/config.py`.

"""


def settings_table() -> str:
    rows = [("setting", "default (bounds)", "meaning"), ("---",) * 3]
    for each in fields(Config):
        rows.append((f"`{each.name}`", with_bounds(each), each.metadata["meaning"]))
    return HEADER + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def number(value: object) -> str:
    """Return a value as a job file has it.

    >>> number(30 * 86400), number(0.2), number(60.0), number(False)
    ('2592000', '0.2', '60', 'false')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.10g}" if isinstance(value, (int, float)) else str(value)


def with_bounds(declared: Field[Any]) -> str:
    """Return the default of a setting with its bounds, such as "5 (0.2–600)"; a flag has none."""
    if isinstance(declared.default, bool):
        return number(declared.default)
    return f"{number(declared.default)} ({number(declared.metadata['lowest'])}–{number(declared.metadata['highest'])})"


KNOBS_HEADER = """\
# Knobs

What an operator ([how](operations.md#steering)) or a policy can change on a running job. Events and `status` name a query's knob as
`trigger:counts`.

What cannot be applied live is changed by one stop and start of the queries concerned, right after a commit; in Real-Time Mode executors are
taken away during such a stop. `kept-share` is not applied by any engine yet. This page is generated from `src/penstock/core/domain/knobs.py`.

"""


def knobs_table() -> str:
    rows = [("knob", "command", "unit", "of", "applied", "allowed", "meaning"), ("---",) * 7]
    for knob in KNOBS.values():
        command = f"`penstock {knob.command} {knob.example}`" if knob.command else "none"
        rows.append((f"`{knob.name}`", command, knob.unit, knob.scope, knob.applied, knob.bounds, knob.meaning))
    return KNOBS_HEADER + "".join(f"| {' | '.join(row)} |\n" for row in rows)


HEADING = "## Parameters\n"
BELOW_HEADING = """\

Set by `[autopilot.parameters]` or `--param name=value`. * is multiplied by `time_scale`. `hpa_paper` and `reactive` have the parameters of `hpa`: only
those that differ are listed. In parentheses: the section of the paper, or the setting of Kubernetes, of Flink's operator or of Spark that it follows.
The table is generated from `src/penstock/core/policies`.

"""


def renewed(page: str) -> str:
    """Return the page of policies with everything below its heading of parameters regenerated."""
    rows = [("policy", "parameter", "default (bounds)", "meaning and source"), ("---",) * 4]
    for name in POLICIES:
        rows += [("" if later else name, *_cells(each)) for later, each in enumerate(_own_parameters(name))]
    return page[: page.index(HEADING)] + HEADING + BELOW_HEADING + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _own_parameters(name: str) -> list[Field[Any]]:
    """Return the parameters of a policy, without those that it inherits unchanged from another policy."""
    inherited = [parameters_of(other) for other, base in POLICIES.items() if other != name and issubclass(POLICIES[name], base)]
    return [
        each for each in parameters_of(name).values()
        if not any(each.name in other and (each.default, each.metadata) == (other[each.name].default, other[each.name].metadata) for other in inherited)
    ]  # fmt: skip


def _cells(parameter: Field[Any]) -> tuple[str, str, str]:
    return f"`{parameter.name}`{'*' if parameter.metadata['scales'] else ''}", with_bounds(parameter), parameter.metadata["meaning"]


if __name__ == "__main__":
    settings, policies = Path("docs/settings.md"), Path("docs/policies.md")
    settings.write_text(settings_table())
    Path("docs/knobs.md").write_text(knobs_table())
    policies.write_text(renewed(policies.read_text()))
