"""Reading a rate from the text of a CSV file."""

import csv
import io

import numpy as np

from penstock.core.errors import UserMistake
from penstock.core.shapes.chance import FloatArray
from penstock.core.shapes.curve import Knots
from penstock.core.shapes.shape import shortened
from penstock.core.shapes.shape_terms import MAX_ROWS_PER_S

_MOST = {"t": 1e12, "rate": MAX_ROWS_PER_S}


def parse_rate_csv(text: str, name: str) -> Knots:
    """Return the points in columns `t` (seconds, counted from the first row) and `rate` (rows/s); `name` is the file, for error messages.

    >>> knots = parse_rate_csv("T,Rate,note" + chr(10) + "100,5,x" + chr(10) + "160,10,y", "trace.csv")
    >>> knots.t_s.tolist(), knots.rate.tolist()
    ([0.0, 60.0], [5.0, 10.0])
    """
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    t_texts: list[str] = []
    rate_texts: list[str] = []
    lines: list[int] = []
    try:
        header = [each.strip().lower() for each in next(reader, [])]
        if not {"t", "rate"} <= set(header):
            raise UserMistake(f"{name}, line 1: found {shortened(', '.join(header)) if header else 'nothing'}, a header with columns t and rate is needed")
        t_at, rate_at = header.index("t"), header.index("rate")
        for row in reader:
            if row:
                t_texts.append(row[t_at] if t_at < len(row) else "")
                rate_texts.append(row[rate_at] if rate_at < len(row) else "")
                lines.append(reader.line_num)
    except csv.Error as error:
        raise UserMistake(f"{name}, line {reader.line_num}: {error}; text separated by commas is needed") from None
    if not lines:
        raise UserMistake(f"{name}: found a header and no row, at least one row of t and rate is needed")
    t_s, rate = _numbers(t_texts, "t", lines, name), _numbers(rate_texts, "rate", lines, name)
    back = np.flatnonzero(np.diff(t_s) <= 0)
    if len(back):
        here = int(back[0]) + 1
        raise UserMistake(f"{name}, line {lines[here]}: t: found {t_s[here]:.15g} after {t_s[here - 1]:.15g}, times that rise from row to row are needed")
    return Knots(t_s=t_s - t_s[0], rate=rate)


def _numbers(texts: list[str], column: str, lines: list[int], name: str) -> FloatArray:
    """Return a column as numbers; raise `UserMistake` for the first that is not one."""
    try:
        values = np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
    except ValueError:
        values = np.array([_number_or_nan(each) for each in texts])
    wrong = np.flatnonzero(~((values >= 0) & (values <= _MOST[column])))
    if len(wrong):
        here = int(wrong[0])
        raise UserMistake(f"{name}, line {lines[here]}: {column}: found {shortened(texts[here])}, a number from 0 to {_MOST[column]:g} is needed")
    return values


def _number_or_nan(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
