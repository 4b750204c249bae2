"""`penstock kafka`: a Kafka broker for as long as it is wanted, and a feeder into a topic of any broker."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.signals import StopSignals
from penstock.cli.status import feed_words
from penstock.core.errors import NotReachable, UserMistake
from penstock.kafka.broker import EmbeddedBroker
from penstock.kafka.feed import Feed, Order
from penstock.kafka.options import client_options
from penstock.kafka.topics import make_topics
from penstock.trace.state import TraceState, recipe_of

POLL_S = 0.2
FolderOption = Annotated[Path | None, typer.Option("--folder", help="Keep its data there; else they go with it.")]
app = typer.Typer(help="A Kafka broker of your own, and a feeder for its topics.", invoke_without_command=True)


@app.callback()
def kafka(
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
    place = folder or Path(tempfile.mkdtemp(prefix="penstock-kafka-"))
    broker = EmbeddedBroker(place, broker_jars().jars)
    try:
        broker.start()
        if wanted:
            make_topics({"bootstrap.servers": broker.bootstrap}, wanted)
        typer.echo(f"kafka.bootstrap.servers={broker.bootstrap}   (Ctrl-C ends it{'' if folder else ' and forgets what it holds'})")
        while not signals.asked.wait(POLL_S) and broker.listens():
            pass
    finally:
        broker.stop()
        if folder is None:
            shutil.rmtree(place, ignore_errors=True)
        signals.done()


@app.command()
def feed(
    topic: Annotated[str, typer.Argument(help="The topic, with its partitions if it is to be made.", metavar="NAME[:PARTITIONS]")],
    bootstrap: Annotated[str, typer.Option("--bootstrap", help="Where the broker is.", metavar="HOST:PORT")],
    rate: Annotated[str | None, typer.Option("--rate", help='A shape, such as "sine(mean=800, amplitude=500, period=120)".')] = None,
    csv: Annotated[str | None, typer.Option("--csv", help="Or a file with columns t, rate.")] = None,
    rows: Annotated[str | None, typer.Option("--rows", help="The function that makes the rows.", metavar="FILE.PY:NAME")] = None,
    parquet: Annotated[str | None, typer.Option("--parquet", help="Or a recording to take the rows from.")] = None,
    value_format: Annotated[str, typer.Option("--value-format", help='"json", or "raw": the column value as it is.')] = "json",
    option: Annotated[list[str] | None, typer.Option("--option", help="An option of the Kafka client.", metavar="KEY=VALUE")] = None,
    limit: Annotated[int | None, typer.Option("--rows-in-all", help="End after so many rows.")] = None,
    state: Annotated[Path | None, typer.Option("--state", help="A folder in which it remembers how far it is; started again, it goes on.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines: a JSON object a second.")] = False,
) -> None:
    """Produce a trace into a topic, each row when its time has come, until Ctrl-C; say a second by second whether it keeps up.

    To change its rate while it runs, say `penstock kafka rate 500/s --state FOLDER` with the same folder.
    """
    signals = StopSignals()
    signals.install()
    place = state or Path(tempfile.mkdtemp(prefix="penstock-feed-"))
    place.mkdir(parents=True, exist_ok=True)
    given = {"rate": rate, "csv": csv, "rows": rows, "parquet": parquet}
    options = {name: value for name, value in given.items() if value is not None} | {"folder": "."}
    trace = TraceState(place / "trace.json", recipe_of(options))
    client = client_options({"bootstrap.servers": bootstrap, **dict(pair_of(each) for each in option or ())})
    try:
        name, partitions = the_topic(client, topic)
        trace.begin(time.time())
        (place / "options.json").write_text(json.dumps(options))
        order = Order(
            topic=name, partitions=partitions, client=client, options={**options, "state": str(trace.path)}, mark=place / "mark.json",
            value_format=value_format, limit=limit,
        )  # fmt: skip
        running = Feed(order)
        running.wait_first()
        watch(running, signals, as_json)
        said = running.close()
        if said:
            raise UserMistake(said)
    finally:
        if state is None:
            shutil.rmtree(place, ignore_errors=True)
        signals.done()


@app.command()
def rate(
    rows: Annotated[str, typer.Argument(help='The new rate: "500/s", or "trace" to follow the trace again.')],
    state: Annotated[Path, typer.Option("--state", help="The folder given to the feeder.")],
) -> None:
    """Change the rate of a feeder that runs."""
    from penstock.core.domain.units import parse_rate_rows_per_s

    try:
        options = json.loads((state / "options.json").read_text())
    except (OSError, ValueError):
        raise UserMistake(f"--state: no feeder has remembered anything in {state}") from None
    trace = TraceState(state / "trace.json", recipe_of(options))
    trace.override(time.time() + 0.5, None if rows == "trace" else parse_rate_rows_per_s(rows))
    typer.echo(f"from now on {rows}")


def watch(running: Feed, signals: StopSignals, as_json: bool) -> None:
    """Show how the feeder keeps up until it ends or is told to."""
    shown = None
    while running.is_running and not signals.asked.wait(POLL_S):
        if running.last is not None and running.last is not shown:
            shown = running.last
            fields = {
                "topic": running.order.topic, "sent_rows": shown.sent_rows, "rate_rows_per_s": shown.rate_rows_per_s,
                "behind_s": shown.behind_s, "worst_behind_s": shown.worst_behind_s,
            }  # fmt: skip
            typer.echo(json.dumps(fields) if as_json else feed_words(fields))


def the_topic(client: dict[str, str], text: str) -> tuple[str, int]:
    """The topic and its partitions, made if it is not there and they are given."""
    from penstock.kafka.topics import partitions_of

    name, given, _ = text.partition(":")
    try:
        if given:
            name, count = topic_of(text)
            return name, make_topics(client, {name: count})[name]
        there = partitions_of(client)
    except NotReachable as error:
        raise UserMistake(str(error)) from None
    if name not in there:
        raise UserMistake(f"there is no topic {name!r}; say {name}:4 to make it with four partitions")
    return name, there[name]


def topic_of(text: str) -> tuple[str, int]:
    """
    >>> topic_of("clicks:4")
    ('clicks', 4)
    """
    name, _, number = text.partition(":")
    if not name or not number.isdigit() or int(number) < 1:
        raise UserMistake(f"--topic: found {text!r}, a name and a number of partitions such as clicks:4 is allowed")
    return name, int(number)


def pair_of(text: str) -> tuple[str, str]:
    """
    >>> pair_of("security.protocol=SSL"), pair_of("kafka.client.id=a=b")
    (('security.protocol', 'SSL'), ('client.id', 'a=b'))
    """
    name, given, value = text.partition("=")
    if not given:
        raise UserMistake(f"--option: found {text!r}, KEY=VALUE is allowed")
    return name.removeprefix("kafka."), value
