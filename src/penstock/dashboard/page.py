"""A run as one HTML file that needs nothing else: no network, no script."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from html import escape
from pathlib import Path

from penstock.core.domain.events.event import Event
from penstock.core.domain.job import Promises
from penstock.core.domain.reading import Reading
from penstock.core.domain.routine import is_routine
from penstock.dashboard.palette import THEME
from penstock.dashboard.picture import svg
from penstock.dashboard.style import STYLE
from penstock.dashboard.summary import NOTHING, RunSummary

PICTURE = "workload, throughput, lag, latency and executors over time"
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def write_page(
    readings: Sequence[Reading],
    event_rows: Sequence[Event],
    promises: Promises,
    path: Path,
    *,
    title: str,
    summary: RunSummary,
    redact: Callable[[str], str] = str,
) -> None:
    """Write the page of a run; the words of events pass through `redact`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(readings, event_rows, promises, title=title, summary=summary, redact=redact), encoding="utf-8", errors="replace")


def page(
    readings: Sequence[Reading], event_rows: Sequence[Event], promises: Promises, *, title: str, summary: RunSummary, redact: Callable[[str], str] = str
) -> str:
    """The page of a run as text."""
    told = [event for event in event_rows if not is_routine(event)]
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<p class="when">{escape(_when(readings))}</p>
{_summary(summary)}
<figure class="picture">{_inline(svg(readings, event_rows, promises))}</figure>
<h2>What happened</h2>
{_events(told, redact)}
</body>
</html>
"""


def _when(readings: Sequence[Reading]) -> str:
    if not readings:
        return NOTHING
    times = [reading.at_s for reading in readings]
    first, last = _local(min(times)), _local(max(times))
    until = f"{last:%H:%M:%S}" if last.date() == first.date() else f"{last:%Y-%m-%d %H:%M:%S}"
    return f"{first:%Y-%m-%d %H:%M:%S} to {until} {last:%Z}"


def _summary(summary: RunSummary) -> str:
    return "<dl>" + "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(words)}</dd></div>\n" for name, words in summary.rows()) + "</dl>"


def _inline(text: str) -> str:
    """An SVG as part of a page: without its preamble and fixed size, its colours those of the page's theme."""
    text = text[text.index("<svg") :]
    text = re.sub(r' width="[^"]*" height="[^"]*"', f' role="img" aria-label="{PICTURE}"', text, count=1)
    for colour, name in THEME.items():
        text = text.replace(colour, name)
    return re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)


def _events(events: Sequence[Event], redact: Callable[[str], str]) -> str:
    if not events:
        return f'<p class="nothing">{NOTHING}</p>'
    one_day = len({_local(event.at_s).date() for event in events}) == 1
    when = "%H:%M:%S" if one_day else "%Y-%m-%d %H:%M:%S"
    rows = "\n".join(_event(event, when, redact) for event in sorted(events, key=lambda event: event.at_s))
    return f"<table>\n<thead><tr><th>time</th><th>what</th><th>in words</th></tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"


def _event(event: Event, when: str, redact: Callable[[str], str]) -> str:
    time, kind, words = _local(event.at_s).strftime(when), escape(_kind(event)), escape(redact(event.words()))
    return f'<tr><td class="time">{time}</td> <td class="kind">{kind}</td> <td>{words}</td></tr>'


def _kind(event: Event) -> str:
    """The event's class as words.

    >>> from penstock.core.domain.events.run import RunEnded
    >>> _kind(RunEnded(at_s=0, job="demo", reason="asked to"))
    'run ended'
    """
    return " ".join(re.findall("[A-Z][a-z]*", type(event).__name__)).lower()


def _local(at_s: float) -> datetime:
    return datetime.fromtimestamp(at_s).astimezone()
