from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from short_comparison import short

from penstock.bench.results import Results, compare
from penstock.dashboard.comparison_page import comparison_page, svg
from penstock.dashboard.comparison_table import COLUMNS, markdown_of, tables_of


@pytest.fixture(scope="module")
def results() -> Iterator[Results]:
    yield compare(short(1), None, "penstock bench --quick", lambda done, total: None)


class Rows(HTMLParser):
    """Collects the cells of every row, and whatever a page loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.loads: list[str] = []
        self._in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self._in_cell = tag in ("td", "th")
        self.loads += [value for name, value in attrs if name in ("src", "href") and value]

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = self._in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] += data


def test_the_page_has_the_cells_of_every_table_and_loads_nothing(results: Results) -> None:
    page = Rows(comparison_page(results))
    comparison, *others = tables_of(results.workloads[0])
    assert {row[0] for row in comparison.rows} == {"static(4)", "hpa(80)", "daedalus", "oracle"} and len(others) == 3
    for table in (comparison, *others):
        assert list(table.headings) in page.rows and all(list(row) in page.rows for row in table.rows)
    assert not [each for each in page.loads if not each.startswith("#")]


def test_columns_without_content_are_left_out(results: Results) -> None:
    headings = tables_of(results.workloads[0])[0].headings
    assert "with profiling" not in headings and "within" in headings and len(headings) < len(COLUMNS)


def test_the_markdown_has_the_same_cells_and_the_command_that_prints_them(results: Results) -> None:
    text = markdown_of(results)
    assert all(f"| {' | '.join(row)} |" in text for table in tables_of(results.workloads[0]) for row in table.rows)
    assert "`penstock bench --quick`, one run of each" in text


def test_each_recovery_from_a_failure_is_shown_by_the_lag_by_the_latency_and_as_predicted(results: Results) -> None:
    table = next(each for each in tables_of(results.workloads[0]) if each.title.startswith("Recoveries"))
    assert [row[1] for row in table.rows if row[0] == "daedalus"] == ["by the lag", "by the latency", "predicted"]
    assert len(table.headings) == 3 and table.headings[2].endswith("/s") and all(row[2] for row in table.rows)


def test_the_capacity_that_was_believed_stands_beside_the_true_one(results: Results) -> None:
    table = next(each for each in tables_of(results.workloads[0]) if each.title.startswith("Believed"))
    assert table.headings == ("policy", "1", "2", "3", "4") and table.rows[0][0] == "the truth"
    assert all("%)" in cell for row in table.rows[1:] for cell in row[1:])


def test_failed_runs_are_named_on_the_page_as_text(results: Results) -> None:
    page = comparison_page(replace(results, failed={"wave, <b>, 1": "it & broke"}))
    assert "<li>wave, &lt;b&gt;, 1: it &amp; broke</li>" in page and "Runs that failed" not in comparison_page(results)


def test_the_figures_name_each_policy_and_are_the_same_each_time(results: Results) -> None:
    drawn = svg(results.workloads[0])
    assert ElementTree.fromstring(drawn).tag.endswith("svg") and drawn == svg(results.workloads[0])
    assert all(f"<!-- {title} -->" in drawn for title in ("Executors", "Share of rows up to a latency", "Executor-seconds relative to static", "hpa(80)"))
