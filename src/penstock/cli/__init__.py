"""The command line: one file a command."""

from __future__ import annotations

import sys

EXIT_OK = 0
EXIT_INTERNAL = 1
EXIT_MISTAKE = 2
EXIT_GIVEN_UP = 3
EXIT_LEASE_LOST = 4
EXIT_DRIVER_LOST = 5
EXIT_AT_ONCE = 130


def main() -> None:
    """The entry point of `penstock`; a mistake of the user is one line and exit code 2."""
    from penstock.cli.app import app
    from penstock.core.errors import PenstockError

    try:
        app(prog_name="penstock")
    except PenstockError as error:
        complain(str(error))
        sys.exit(EXIT_MISTAKE)


def complain(mistakes: str) -> None:
    """Say what is wrong, a line for each mistake."""
    for line in mistakes.splitlines():
        print(f"penstock: {line}", file=sys.stderr)
