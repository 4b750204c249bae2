"""`penstock kafka`: run a Kafka broker on this machine, and feed rows into a topic of any broker."""

import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.signals import StopSignals
from penstock.cli.status import feed_words
from penstock.core.errors import NotReachable, UserMistake
from penstock.core.shapes.schedule import Override
from penstock.kafka.broker import EmbeddedBroker
from penstock.kafka.feed import Feed, Order
from penstock.kafka.options import client_options
from penstock.kafka.topics import make_topics, partitions_of
from penstock.runtime.secrets import resolve
from penstock.trace.state import TraceState, recipe_of

app = typer.Typer(help="Run a Kafka broker on this machine, or feed a topic.", invoke_without_command=True)

POLL_S = 0.2
FolderOption = Annotated[Path | None, typer.Option("--folder", help="Keep its data in this folder; without it they are deleted at the end.")]


@app.callback()
def broker(
    context: typer.Context,
    topics: Annotated[list[str] | None, typer.Option("--topic", help="Create a topic with this number of partitions.", metavar="NAME:PARTITIONS")] = None,
    folder: FolderOption = None,
) -> None:
    """Run a Kafka broker of one node on free ports of this machine until Ctrl-C."""
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
        typer.echo(f"kafka.bootstrap.servers={running.bootstrap}   (Ctrl-C stops it{'' if folder else ' and deletes its data'})")
        while not signals.asked.wait(POLL_S) and running.listens():
            pass


@app.command()
def feed(
    topic: Annotated[str, typer.Argument(help="The topic; with a number of partitions it is created.", metavar="NAME[:PARTITIONS]")],
    bootstrap: Annotated[str, typer.Option("--bootstrap", help="The address of the broker.", metavar="HOST:PORT")],
    rate: Annotated[str | None, typer.Option("--rate", help='The rate as a shape, such as "sine(mean=800, amplitude=500, period=120)".')] = None,
    csv: Annotated[str | None, typer.Option("--csv", help="The rate as a CSV file with the columns t, rate.")] = None,
    rows: Annotated[str | None, typer.Option("--rows", help="A function that makes the rows.", metavar="FILE.PY:NAME")] = None,
    parquet: Annotated[str | None, typer.Option("--parquet", help="A Parquet file or folder to take the rows from.")] = None,
    value_format: Annotated[
        str, typer.Option("--value-format", help='The value of a record: all columns as "json", or the column value as it is ("raw").')
    ] = "json",
    option: Annotated[
        list[str] | None,
        typer.Option("--option", help="An option of the Kafka client. Write a secret as '${env:NAME}' or '${file:path}'.", metavar="KEY=VALUE"),
    ] = None,
    limit: Annotated[int | None, typer.Option("--rows-in-all", help="Stop after this number of rows.")] = None,
    state: Annotated[Path | None, typer.Option("--state", help="A folder for its progress; a feeder started again with it continues.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object every second.")] = False,
) -> None:
    """Write the rows of a trace to a topic at their times, until Ctrl-C.

    Prints every second whether it keeps up. To change the rate of a running feeder, call `penstock kafka rate 500/s --state FOLDER` with the same folder.
    """
    given = {"rate": rate, "csv": csv, "rows": rows, "parquet": parquet}
    options = {name: value for name, value in given.items() if value is not None} | {"folder": "."}
    recipe = recipe_of(options)
    client = client_options({"bootstrap.servers": bootstrap, **options_of(option or (), os.environ)})
    name, partitions = the_topic(client, topic)
    signals = StopSignals()
    signals.install()
    with ExitStack() as last:
        last.callback(signals.done)
        place = last.enter_context(place_of(state, "penstock-feed-"))
        trace = TraceState(place / "trace.json", recipe)
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


def options_of(pairs: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the client options with their secrets filled in: other users can read a command line.

    >>> options_of(["kafka.security.protocol=SSL", "ssl.truststore.password=${env:SECRET}"], {"SECRET": "a=b"})
    {'security.protocol': 'SSL', 'ssl.truststore.password': 'a=b'}
    """
    found = resolve(dict(pair_of(each) for each in pairs), folder=Path(), environ=environ)
    if found.problems:
        raise UserMistake(*(f"--option {keys[0]}: {problem}" for keys, problem in found.problems))
    options: dict[str, str] = found.value
    return options


def pair_of(text: str) -> tuple[str, str]:
    """
    >>> pair_of("security.protocol=SSL"), pair_of("kafka.client.id=a=b")
    (('security.protocol', 'SSL'), ('client.id', 'a=b'))
    """
    name, given, value = text.partition("=")
    if not given:
        raise UserMistake(f"--option: found {text!r}, KEY=VALUE is allowed")
    return name.removeprefix("kafka."), value


def watch(running: Feed, signals: StopSignals, as_json: bool) -> None:
    """Print the feeder's progress until it ends or a signal stops it."""
    shown = None
    while running.is_running and not signals.asked.wait(POLL_S):
        if running.last is not None and running.last is not shown:
            shown = running.last
            progress = shown.summary(running.order.topic)
            typer.echo(json.dumps(progress) if as_json else feed_words(progress))


@contextmanager
def place_of(given: Path | None, prefix: str) -> Iterator[Path]:
    """Yield the given folder, created if needed; else a temporary one that is deleted at the end."""
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given
    else:
        with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
            yield Path(folder)


@app.command()
def rate(
    value: Annotated[str, typer.Argument(help='The new rate: "500/s"; "trace" to follow the trace again, "restart" to begin it again.')],
    state: Annotated[Path, typer.Option("--state", help="The folder that was given to the feeder.")],
) -> None:
    """Change the rate of a running feeder."""
    try:
        options = json.loads((state / "options.json").read_text())
    except (OSError, ValueError):
        raise UserMistake(f"--state: there is no state of a feeder in {state}") from None
    trace = TraceState(state / "trace.json", recipe_of(options))
    trace.override(Override.parse(value, time.time() + 0.5))
    typer.echo(f"from now on {value}")


def the_topic(client: dict[str, str], text: str) -> tuple[str, int]:
    """Return the topic and its number of partitions; create it if that number is given."""
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
