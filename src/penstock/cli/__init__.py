"""The command line: one file a command."""

import sys

EXIT_OK = 0
EXIT_INTERNAL = 1
EXIT_MISTAKE = 2
EXIT_GIVEN_UP = 3
EXIT_LEASE_LOST = 4
EXIT_DRIVER_LOST = 5
EXIT_AT_ONCE = 130


def main() -> None:
    """Run the command line. A mistake of the user is printed as one line, with exit code 2."""
    from penstock.cli.app import app
    from penstock.core.errors import PenstockError

    try:
        app(prog_name="penstock")
    except PenstockError as error:
        complain(str(error))
        sys.exit(EXIT_MISTAKE)


def complain(mistakes: str) -> None:
    """Print each mistake on a line of its own to standard error."""
    for line in mistakes.splitlines():
        print(f"penstock: {line}", file=sys.stderr)
