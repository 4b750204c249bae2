"""The page of all settings, made from their declarations: .venv/bin/python -m penstock.cli.settings_table > docs/settings.md"""

from __future__ import annotations

from dataclasses import fields

from penstock.core.config import Config

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


if __name__ == "__main__":
    print(settings_table(), end="")
