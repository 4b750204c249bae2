"""Generate docs/settings.md, docs/knobs.md and the parameter tables of docs/policies.md: .venv/bin/python -m penstock.cli.generated_pages"""

from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from penstock.core.config import Config
from penstock.core.domain.knobs import KNOBS
from penstock.core.policies.registry import POLICIES, parameters_of

HEADER = """\
# Settings

The numbers Penstock works with. Each has a default that suits most jobs. A job file changes it by name:

    [settings]
    reading_interval_s = 2

and so does a keyword of the same name in `penstock.start` and `penstock.attach`.

The unit is in the name: `_s` is seconds, `_days` days, `_mb` megabytes. A value outside its bounds is refused before the job starts.
This page is generated from `src/penstock/core/config.py`, and a test compares the two.

"""


def settings_table() -> str:
    rows = [("setting", "default", "lowest", "highest", "meaning"), ("---", "---:", "---:", "---:", "---")]
    for each in fields(Config):
        bounds = each.metadata
        rows.append((f"`{each.name}`", number(each.default), number(bounds["lowest"]), number(bounds["highest"]), bounds["meaning"]))
    return HEADER + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def number(value: object) -> str:
    """Return a value as a job file has it.

    >>> number(30 * 86400), number(0.2), number(60.0), number(False)
    ('2592000', '0.2', '60', 'false')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.10g}" if isinstance(value, (int, float)) else str(value)


KNOBS_HEADER = """\
# Knobs

What can be changed on a running job, by an operator or by a policy. An operator sets a knob for all queries, or for one, and holds it for an hour:

    penstock scale 3
    penstock trigger 10s --query counts --for 20m

`penstock release` ends all holds. A knob of a query is named with it in events and in `status`: `trigger:counts`.
A change that cannot be applied live is made by one stop and start of the queries it concerns, right after a commit; in Real-Time Mode executors are
taken away during such a stop. Each kind of change has its own learnt downtime. `kept-share` is not applied by any engine yet.
This page is generated from `src/penstock/core/domain/knobs.py`, and a test compares the two.

"""


def knobs_table() -> str:
    rows = [("knob", "command", "unit", "of", "applied", "allowed", "meaning"), ("---",) * 7]
    for knob in KNOBS.values():
        command = f"`penstock {knob.command} {knob.example}`" if knob.command else "none"
        rows.append((f"`{knob.name}`", command, knob.unit, knob.scope, knob.applied, knob.bounds, knob.meaning))
    return KNOBS_HEADER + "".join(f"| {' | '.join(row)} |\n" for row in rows)


HEADING = "## Parameters\n"
BELOW_HEADING = """\

Set by `[autopilot.parameters]` of the job file or `--param name=value`. A value outside its bounds is refused; * is multiplied by `time_scale`.
`hpa_paper` and `reactive` have the parameters of `hpa`: only those that differ are listed.
The table is generated from `src/penstock/core/policies`, and a test compares the two.

"""


def renewed(page: str) -> str:
    """Return the page of policies with everything below its heading of parameters generated anew."""
    rows = [("policy", "parameter", "default", "bounds", "meaning and source"), ("---", "---", "---:", "---", "---")]
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


def _cells(parameter: Field[Any]) -> tuple[str, str, str, str]:
    bounds = parameter.metadata
    scales = "*" if bounds["scales"] else ""
    return f"`{parameter.name}`{scales}", number(parameter.default), f"{number(bounds['lowest'])}–{number(bounds['highest'])}", bounds["meaning"]


if __name__ == "__main__":
    settings, policies = Path("docs/settings.md"), Path("docs/policies.md")
    settings.write_text(settings_table())
    Path("docs/knobs.md").write_text(knobs_table())
    policies.write_text(renewed(policies.read_text()))
