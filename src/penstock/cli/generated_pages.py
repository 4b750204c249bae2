"""Generate docs/settings.md and the parameter tables of docs/policies.md from the declarations: .venv/bin/python -m penstock.cli.generated_pages"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from penstock.core.config import Config
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
    """The whole page."""
    rows = [("setting", "default", "lowest", "highest", "meaning"), ("---", "---:", "---:", "---:", "---")]
    for each in fields(Config):
        bounds = each.metadata
        rows.append((f"`{each.name}`", number(each.default), number(bounds["lowest"]), number(bounds["highest"]), bounds["meaning"]))
    return HEADER + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def number(value: object) -> str:
    """A number as a job file would have it.

    >>> number(30 * 86400), number(0.2), number(60.0)
    ('2592000', '0.2', '60')
    """
    return f"{value:.10g}" if isinstance(value, (int, float)) else str(value)


HEADING = "## Parameters\n"
BELOW_HEADING = """\

Set by `[autopilot.parameters]` of the job file or `--param name=value`. What scales is multiplied by `time_scale`; a value outside its bounds is refused.
From here on the page is generated from `src/penstock/core/policies`, and a test compares the two.
"""


def renewed(page: str) -> str:
    """The page with all below its heading of parameters made anew."""
    return page[: page.index(HEADING)] + HEADING + BELOW_HEADING + "".join(map(_table, POLICIES))


def _table(name: str) -> str:
    rows = [("parameter", "default", "lowest", "highest", "scales", "meaning and source"), ("---", "---:", "---:", "---:", "---", "---")]
    for each in parameters_of(name).values():
        bounds = each.metadata
        scales = "yes" if bounds["scales"] else "no"
        rows.append((f"`{each.name}`", number(each.default), number(bounds["lowest"]), number(bounds["highest"]), scales, bounds["meaning"]))
    return f"\n### {name}\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    settings, policies = Path("docs/settings.md"), Path("docs/policies.md")
    settings.write_text(settings_table())
    policies.write_text(renewed(policies.read_text()))
