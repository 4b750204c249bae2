from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

from changes import rescaled
from example_run import START_S, example_run
from planned import wants

from penstock.core.domain.events.autopilot_events import Decided, PromiseBroken, ProposalEnded, Proposed
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.query_events import QueryFailed
from penstock.core.domain.events.run_events import NothingToDo
from penstock.core.domain.events.steering_events import InstructionGiven
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Reading
from penstock.dashboard.page import page, write_page
from penstock.dashboard.summary import summarise

READINGS, EVENTS = example_run()
PROMISES = Promises(latency_p95_s=5)
EVIL = "<script>alert(1)</script>"


class Tags(HTMLParser):
    """Collects the tags and the addresses they load from."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.loads: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loads |= {value for name, value in attrs if name in ("src", "href", "xlink:href", "data", "action") and value}


def page_of(readings: Sequence[Reading], events: Sequence[Event], title: str = "demo") -> str:
    return page(readings, events, PROMISES, title=title, summary=summarise(readings, events, PROMISES, 4))


def test_the_page_has_title_summary_picture_and_events(tmp_path: Path) -> None:
    path = tmp_path / "new" / "run.html"
    write_page(READINGS, EVENTS, PROMISES, path, title="demo", summary=summarise(READINGS, EVENTS, PROMISES, 4))
    text = path.read_text(encoding="utf-8")
    assert {"h1", "dl", "svg", "table"} <= Tags(text).tags
    assert "595 (62% of 960 with the maximum all the time)" in text
    assert "query lookup failed: ConnectionError: the lookup service went away" in text
    assert "query restarted" in text


def test_the_page_loads_nothing_runs_nothing_and_leaves_out_turns_that_did_nothing() -> None:
    found = Tags(page_of(READINGS, EVENTS))
    assert not found.tags & {"script", "link", "img", "iframe", "object"}
    assert all(address.startswith("#") for address in found.loads)
    assert any(isinstance(event, NothingToDo) for event in EVENTS)
    assert "nothing to do" not in page_of(READINGS, EVENTS)
    assert page_of([], []).count("nothing recorded yet") >= 3


def test_names_and_words_are_escaped() -> None:
    events = [
        *EVENTS,
        QueryFailed(at_s=START_S, query=EVIL, cause='" onload="x'),
        InstructionGiven(at_s=START_S, number=9, knob="query:x", change=rescaled(1, 2), reason=EVIL),
    ]
    text = page_of(READINGS, events, title=EVIL)
    assert "<script" not in text
    assert "<h1>&lt;script&gt;alert(1)&lt;/script&gt;</h1>" in text
    assert "script" not in Tags(text).tags


def test_secrets_are_masked_in_the_words_of_events() -> None:
    events = [QueryFailed(at_s=START_S, query="q", cause="login with hunter2 failed")]
    text = page(
        READINGS, events, PROMISES, title="demo", summary=summarise(READINGS, events, PROMISES, 4), redact=lambda words: words.replace("hunter2", "***")
    )
    assert "hunter2" not in text
    assert "login with *** failed" in text


def test_decisions_proposals_and_broken_promises_are_on_the_page_and_routine_is_not() -> None:
    decided = Decided(id=1, at_s=START_S + 60, mode="ask", policy="thumb", decision=wants(2, 4), effect="proposed")
    events = [
        *EVENTS, decided, replace(decided, at_s=START_S + 65, decision=wants(4, 4), effect="kept"),
        Proposed(at_s=START_S + 60, proposal=7, change=rescaled(4, 2), policy="thumb", expires_s=START_S + 660),
        ProposalEnded(at_s=START_S + 70, proposal=7, how="approved", who="ann"), replace(decided, at_s=START_S + 70, effect="approved"),
        PromiseBroken(at_s=START_S + 90, promise="latency p95", value=6.0, limit=5.0),
    ]  # fmt: skip
    text = unescape(page_of(READINGS, events))
    for words in (
        "proposal 7 of thumb: executors 4 -> 2", "proposal 7 was approved by ann", "thumb: executors 4 -> 2, the fewest executors that hold (approved)",
        "promise broken: latency p95 6 s, 5 s were promised", "wanted by the policy", "2 proposed", "decided by thumb",
    ):  # fmt: skip
        assert words in text
    assert "thumb keeps" not in text and "waiting for a word" not in text


def test_the_picture_follows_the_colours_of_the_page() -> None:
    text = page_of(READINGS, EVENTS)
    drawn = text[text.index("<svg") : text.index("</svg>")]
    assert "var(--ink)" in drawn
    assert "#1f2933" not in drawn
    assert "prefers-color-scheme: dark" in text
