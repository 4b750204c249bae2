import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.terminal import Whole

HEADS = ("executor-seconds", "p95 ms", "longest recovery s", "within")
ROWS = {"the same executors, simulated": ("112,245", "13,276", "never", "94.9%"), "daedalus": ("9,876", "1,234,567", "62", "100.0%")}


def table(title: str | None = None) -> Table:
    made = Table(title=title, title_justify="left", box=None)
    made.add_column("policy")
    for head in HEADS:
        made.add_column(head, justify="right")
    for name, cells in ROWS.items():
        made.add_row(*map(Text, (name, *cells)))
    return made


def lines(shown: Whole, width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as caught:
        console.print(shown)
    return caught.get().splitlines()


@pytest.mark.parametrize("width", [36, 40, 50, 60, 70, 80, 100, 120])
@pytest.mark.parametrize("parts", [(), (2, 2), (1,)])
def test_every_number_and_every_word_is_there_at_any_width(width: int, parts: tuple[int, ...]) -> None:
    shown = lines(Whole(table("what if, on clicks"), parts), width)
    words = " ".join(shown).split()
    for cell in (cell for name, cells in ROWS.items() for cell in (*name.split(), *cells)):
        assert cell in words, (width, cell)
    for word in " ".join(HEADS).split():
        assert word in words, (width, word)
    assert max(map(len, shown)) <= width and "…" not in "".join(shown)


def test_a_table_is_whole_where_there_is_room_and_heads_go_over_two_lines_before_a_second_one_is_made() -> None:
    assert len(lines(Whole(table()), 120)) == 3
    shown = lines(Whole(table()), 80)
    assert sum("daedalus" in line for line in shown) == 1
    assert "longest" in shown[0] and "recovery s" in shown[1]
    made = Table(box=None)
    made.add_column("policy")
    assert lines(Whole(made), 80) == [" policy "]


def test_what_belongs_together_stays_together_in_one_of_several_tables() -> None:
    shown = lines(Whole(table(), (1, 3)), 60)
    heads = [line.split() for line in shown if line.split()[:1] == ["policy"]]
    assert [len(head) > 2 for head in heads] == [False, True] and sum("daedalus" in line for line in shown) == 2
    assert any(not line.strip() for line in shown), "with an empty line between"


def test_a_word_that_no_terminal_has_room_for_is_folded_and_not_cut() -> None:
    made = Table(box=None)
    made.add_column("job")
    made.add_column("had h", justify="right")
    made.add_row("a" * 70, "1,234.5")
    shown = lines(Whole(made), 40)
    assert "".join(shown[1:]).count("a") == 70 and any("1,234.5" in line for line in shown) and max(map(len, shown)) <= 40


def test_a_text_beside_numbers_is_wrapped_into_a_width_that_can_be_read() -> None:
    made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    made.add_column("", no_wrap=True)
    made.add_column("predicted", justify="right", no_wrap=True)
    made.add_column("")
    made.add_row("latency p95 of 4 executors", "1,595 rows/s", "void: it could not be judged", style="bold")
    shown = lines(Whole(made), 52)
    assert len(shown) == 3 and "void: it could" in shown[1] and "not be judged" in shown[2] and max(map(len, shown)) <= 52
