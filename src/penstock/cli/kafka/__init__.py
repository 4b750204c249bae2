"""`penstock kafka`: a Kafka broker for as long as it is wanted, and a feeder into a topic of any broker."""

from __future__ import annotations

import typer

from penstock.cli.kafka import broker, feed, rate

app = typer.Typer(help="A Kafka broker of your own, and a feeder for its topics.", invoke_without_command=True)
app.callback()(broker.broker)
app.command("feed")(feed.feed)
app.command("rate")(rate.rate)
