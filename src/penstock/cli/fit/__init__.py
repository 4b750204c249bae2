"""`penstock fit`: fit a model to measurements in a CSV file."""

import typer

from penstock.cli.fit import capacity, regression, scaleout

app = typer.Typer(no_args_is_help=True, help="Fit a model to a CSV file of measurements.")
app.command("capacity")(capacity.capacity)
app.command("scaleout")(scaleout.scaleout)
app.command("recovery")(regression.recovery)
app.command("latency")(regression.latency)
app.command("profile")(scaleout.profile)
