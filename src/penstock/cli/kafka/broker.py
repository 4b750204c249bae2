"""`penstock kafka`: a real single-node broker until Ctrl-C."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.kafka.place import place_of
from penstock.cli.kafka.topics import topic_of
from penstock.cli.signals import StopSignals
from penstock.kafka.broker import EmbeddedBroker
from penstock.kafka.topics import make_topics

POLL_S = 0.2
FolderOption = Annotated[Path | None, typer.Option("--folder", help="Keep its data there; else they go with it.")]


def broker(
    context: typer.Context,
    topics: Annotated[list[str] | None, typer.Option("--topic", help="A topic to make, with its partitions.", metavar="NAME:PARTITIONS")] = None,
    folder: FolderOption = None,
) -> None:
    """Run a real single-node broker on free ports of this machine until Ctrl-C."""
    if context.invoked_subcommand is not None:
        return
    from penstock.spark.connector import broker_jars

    wanted = dict(topic_of(each) for each in topics or ())
    signals = StopSignals()
    signals.install()
    with ExitStack() as last:
        last.callback(signals.done)
        running = EmbeddedBroker(last.enter_context(place_of(folder, "penstock-kafka-")), broker_jars().jars)
        last.callback(running.stop)
        running.start()
        if wanted:
            make_topics({"bootstrap.servers": running.bootstrap}, wanted)
        typer.echo(f"kafka.bootstrap.servers={running.bootstrap}   (Ctrl-C ends it{'' if folder else ' and forgets what it holds'})")
        while not signals.asked.wait(POLL_S) and running.listens():
            pass
