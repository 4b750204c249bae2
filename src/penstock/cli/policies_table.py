"""The tables of docs/policies.md, made from what the policies declare: .venv/bin/python -m penstock.cli.policies_table docs/policies.md"""

from __future__ import annotations

import sys
from pathlib import Path

from penstock.cli.settings_table import number
from penstock.core.policies.registry import POLICIES, parameters_of

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
    file = Path(sys.argv[1])
    file.write_text(renewed(file.read_text()))
