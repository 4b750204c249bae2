"""The `penstock` command: its table of subcommands, each imported at its first use, and mistakes in one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

import penstock
from penstock.core.domain.knobs import KNOBS
from penstock.core.errors import UserMistake

COMMANDS = {
    "init": "init:init",
    "validate": "validate:validate",
    "run": "run:run",
    "status": "status:status",
    **{knob.command: f"steer:{knob.command}" for knob in KNOBS.values() if knob.command},
    "rate": "steer:rate",
    "release": "steer:release",
    "approve": "steer:approve",
    "reject": "steer:reject",
    "pause": "steer:pause",
    "resume": "steer:resume",
    "explain": "explain:explain",
    "grade": "grade:grade",
    "readiness": "readiness:readiness",
    "history": "history:history",
    "entry": "init:entry",
    "demo": "demo:demo",
    "forecast": "forecast:forecast",
    "recovery": "recovery:recovery",
    "simulate": "simulate:simulate",
    "replay": "replay:replay",
    "audit": "audit:audit",
    "bench": "bench:bench",
    "fit": "fit:app",
    "selftest": "selftest:app",
    "kafka": "kafka:app",
}
"""Each command's module in this package, and the function in it, or the Typer app of a group of commands."""


class Commands(TyperGroup):
    """Load each command at its first use, so that `penstock status` does not wait for the imports of `penstock fit`."""

    loaded: ClassVar[dict[str, Any]] = {}

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        with misuse_in_one_line():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        with misuse_in_one_line():
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS and cmd_name not in self.loaded:
            self.loaded[cmd_name] = load(cmd_name)
        return self.loaded.get(cmd_name)


def load(name: str) -> Any:
    module, _, found = COMMANDS[name].partition(":")
    command: Any = getattr(import_module(f"penstock.cli.{module}"), found)
    if not isinstance(command, typer.Typer):
        single = typer.Typer(add_completion=False)
        single.command(name)(command)
        command = single
    command.rich_markup_mode = None
    made: Any = typer.main.get_command(command)
    made.name = name
    return made


Misuse: Any = typer.BadParameter.__bases__[0]
"""The base class of all usage errors. Typer does not export it; some versions take it from Click, others have their own."""


@contextmanager
def misuse_in_one_line() -> Iterator[None]:
    """Turn a usage error into a UserMistake of one line that names the help page; a command without arguments still prints its help."""
    try:
        yield
    except Misuse as error:
        if type(error).show is not Misuse.show:
            raise
        where = f"; see {error.ctx.command_path} --help" if error.ctx else ""
        said = " ".join(error.format_message().split()).removesuffix(".")
        raise UserMistake(said.replace("Value error, ", "") + where) from None


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True, pretty_exceptions_enable=False, add_completion=True, rich_markup_mode=None,
    help="An autopilot for Apache Spark Structured Streaming.",
)  # fmt: skip


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"penstock {penstock.__version__}")
        raise typer.Exit


@app.callback()
def options(version: Annotated[bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")] = False) -> None:
    pass
