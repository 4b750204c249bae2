"""A run as one HTML file without scripts or external resources."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from html import escape
from pathlib import Path

from penstock.core.domain.events.event import Event
from penstock.core.domain.events.meaning import is_routine
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Reading
from penstock.dashboard.look import THEME
from penstock.dashboard.picture import svg
from penstock.dashboard.summary import NOTHING, RunSummary

PICTURE = "workload, throughput, lag, latency and executors over time"
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def write_page(readings: Sequence[Reading], event_rows: Sequence[Event], promises: Promises, path: Path, *, title: str, summary: RunSummary) -> None:
    """Write the page of a run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(readings, event_rows, promises, title=title, summary=summary), encoding="utf-8", errors="replace")


def page(
    readings: Sequence[Reading], event_rows: Sequence[Event], promises: Promises, *, title: str, summary: RunSummary, redact: Callable[[str], str] = str
) -> str:
    shown = [event for event in event_rows if not is_routine(event)]
    body = f"""<p class="when">{escape(_when(readings))}</p>
{_summary(summary)}
<figure class="picture">{inlined(svg(readings, event_rows, promises), PICTURE)}</figure>
<h2>What happened</h2>
{_events(shown, redact)}"""
    return document(title, body)


def document(title: str, body: str, more_style: str = "") -> str:
    """Return an HTML file that loads nothing."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(title)}</title>
<style>{STYLE}{more_style}</style>
</head>
<body>
<h1>{escape(title)}</h1>
{body}
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


def inlined(text: str, says: str) -> str:
    """Return an SVG to embed: without preamble and fixed size, in the colours of the page's theme, with words for those who cannot see it."""
    text = text[text.index("<svg") :]
    text = re.sub(r' width="[^"]*" height="[^"]*"', f' role="img" aria-label="{escape(says)}"', text, count=1)
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
    """Return the event's class name as words.

    >>> from penstock.core.domain.events.run_events import RunEnded
    >>> _kind(RunEnded(at_s=0, job="demo", reason="asked to"))
    'run ended'
    """
    return " ".join(re.findall("[A-Z][a-z]*", type(event).__name__)).lower()


def _local(at_s: float) -> datetime:
    return datetime.fromtimestamp(at_s).astimezone()


STYLE = """
:root { color-scheme: light dark; --paper: #fffffe; --ink: #1f2933; --muted: #66707c; --line: #e3e7eb;
  --orange: #e69f00; --blue: #0072b2; --green: #009e73; --vermilion: #d55e00; --purple: #b5679a; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e6eaee; --muted: #97a1ac; --line: #2c343d;
  --orange: #f0b429; --blue: #4aa8e0; --green: #2cc295; --vermilion: #f58442; --purple: #d391bd; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 64rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 2rem 0 .5rem; font-size: 1.05rem; }
p.when { margin: .2rem 0 1.2rem; color: var(--muted); }
dl { display: grid; grid-template-columns: repeat(3, 1fr); gap: 1px; margin: 0; background: var(--line); border: 1px solid var(--line);
  border-radius: 8px; overflow: hidden; }
dl div { padding: .6rem .9rem; background: var(--paper); }
dl div:only-child { grid-column: 1 / -1; }
dt { font-size: .8rem; color: var(--muted); }
dd { margin: 0; font-variant-numeric: tabular-nums; }
.picture { margin: 1.5rem 0 0; overflow-x: auto; }
.picture svg { display: block; width: 100%; min-width: 42rem; height: auto; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th, td { padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { font-size: .8rem; font-weight: 500; color: var(--muted); }
td { overflow-wrap: anywhere; }
td.time, td.kind { white-space: nowrap; color: var(--muted); font-variant-numeric: tabular-nums; }
td.kind { overflow-wrap: normal; }
.nothing { color: var(--muted); }
@media (max-width: 48rem) { dl { grid-template-columns: 1fr; } dl div { display: flex; justify-content: space-between; align-items: baseline; gap: 1rem; }
  dt { white-space: nowrap; } dd { text-align: right; } }
@media (max-width: 36rem) { table, tbody, tr, td { display: block; } thead { display: none; } tr { padding: .45rem 0; border-bottom: 1px solid var(--line); }
  td { padding: 0; border: 0; } td.time, td.kind { display: inline; padding-right: .6rem; font-size: .8rem; } }
"""
