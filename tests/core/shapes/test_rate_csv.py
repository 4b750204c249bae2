import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import UserMistake
from penstock.core.shapes.rate_csv import parse_rate_csv


def test_columns_are_found_by_name_in_any_order_and_case() -> None:
    knots = parse_rate_csv("\ufeffhost, Rate ,T\r\na,5,0\r\n\r\nb, 7.5 ,10\r\n", "x.csv")
    assert knots.t_s.tolist() == [0, 10] and knots.rate.tolist() == [5, 7.5]


def test_time_counts_from_the_first_row_which_may_be_the_only_one() -> None:
    assert parse_rate_csv("t,rate\n1700000000,1\n1700000060,2\n", "x.csv").t_s.tolist() == [0, 60]
    assert parse_rate_csv("t,rate\n0,5", "x.csv").rate.tolist() == [5]


@given(st.lists(st.tuples(st.floats(0.001, 1e6), st.floats(0, 1e9)), min_size=1, max_size=20))
def test_what_is_written_is_read(points: list[tuple[float, float]]) -> None:
    t_s = np.cumsum([0.0, *(step for step, _ in points[1:])])
    knots = parse_rate_csv("t,rate\n" + "".join(f"{t!r},{rate!r}\n" for t, (_, rate) in zip(t_s.tolist(), points, strict=True)), "x.csv")
    assert knots.t_s.tolist() == t_s.tolist() and knots.rate.tolist() == [rate for _, rate in points]


def test_equal_content_has_an_equal_digest_and_other_content_another() -> None:
    one, same, other = (parse_rate_csv(text, "x.csv") for text in ("t,rate\n0,5\n9,6", "rate,t\n5.0,0\n6,9.0\n", "t,rate\n0,5\n9,7"))
    assert one == same and hash(one) == hash(same) and one != other


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "x.csv, line 1: found nothing, a header with columns t and rate is needed"),
        ("0,100\n1,200\n", "x.csv, line 1: found '0, 100', a header with columns t and rate is needed"),
        ("t,rate\n\n", "x.csv: found a header and no row"),
        ("t,rate\n0,5\n1,fast\n", "x.csv, line 3: rate: found 'fast', a number from 0 to 1e+09 is needed"),
        ("t,rate\n0,5\n\n1,-2\n", "x.csv, line 4: rate: found '-2', a number"),
        ("t,rate\n0,nan\n", "x.csv, line 2: rate: found 'nan', a number"),
        ("t,rate\n0,inf\n", "x.csv, line 2: rate: found 'inf', a number"),
        ("t,rate\n0,5\n1\n", "x.csv, line 3: rate: found '', a number"),
        ("t,rate\nsoon,5\n", "x.csv, line 2: t: found 'soon', a number"),
        ("t,rate\n-1,5\n", "x.csv, line 2: t: found '-1', a number"),
        ("t,rate\n0,5\n9,6\n3,6\n", "x.csv, line 4: t: found 3 after 9, times that rise"),
        ("t,rate\n0,5\n0,6\n", "x.csv, line 3: t: found 0 after 0, times that rise"),
        ("t,rate\n0," + "9" * 200_000, "x.csv, line 2: field larger than field limit"),
    ],
)
def test_a_mistake_names_the_file_the_line_and_what_was_found(text: str, says: str) -> None:
    with pytest.raises(UserMistake) as caught:
        parse_rate_csv(text, "x.csv")
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_the_time_to_read_a_file_grows_with_its_length_and_not_with_its_square() -> None:
    def took_s(rows: int) -> float:
        text = "t,rate\n" + "".join(f"{each},{each % 977}\n" for each in range(rows))
        began = time.process_time()
        parse_rate_csv(text, "x.csv")
        return time.process_time() - began

    short, long = zip(*((took_s(10_000), took_s(200_000)) for _ in range(3)), strict=True)
    assert min(long) < 80 * min(short), "twenty times the rows"
