"""Commands that are imported when somebody asks for them: `penstock status` need not wait for what `penstock fit` is made of."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

from penstock.cli.misuse import misuse_in_one_line

COMMANDS = {
    "init": "init:init",
    "validate": "validate:validate",
    "run": "run:run",
    "status": "status:status",
    "scale": "steer:scale",
    "trigger": "steer:trigger",
    "rate-limit": "steer:rate_limit",
    "partitions": "steer:partitions",
    "rate": "steer:rate",
    "release": "steer:release",
    "approve": "trust:approve",
    "reject": "trust:reject",
    "pause": "trust:pause",
    "resume": "trust:resume",
    "explain": "explain:explain",
    "grade": "grade:grade",
    "readiness": "readiness:readiness",
    "history": "history:history",
    "entry": "entry:entry",
    "demo": "demo:demo",
    "forecast": "forecast:forecast",
    "recovery": "recovery:recovery",
    "simulate": "simulate:simulate",
    "replay": "replay:replay",
    "audit": "audit:audit",
    "fit": "fit:app",
    "selftest": "selftest:app",
    "kafka": "kafka:app",
}
"""Where each is: a module of this package, and the function or the Typer of several commands in it."""


class Commands(TyperGroup):
    """The commands of the table, each loaded at its first use."""

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
