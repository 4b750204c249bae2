"""Why a query failed: one line, and the traceback of the user's code if there is one."""

import re
import traceback
from collections.abc import Callable

from penstock.core.errors import PenstockError

_PYTHON = re.compile(r"(Traceback \(most recent call last\):\n(?:.*\n)+?(?=\S)(?P<last>[^\n]+))")
LONGEST_TRACEBACK = 8000
_NOISE = re.compile(r"\s*(SQLSTATE: \w+|JVM stacktrace:.*)", re.DOTALL)


def cause_of(error: BaseException, redact: Callable[[str], str] = str) -> tuple[str, str]:
    """Return (one line, traceback or "") for an exception of a query. The innermost Python error wins over Spark's wrapping of it.

    Both are redacted before they are cut: half a secret would pass.

    >>> cause_of(ValueError("no such column"))[0]
    'ValueError: no such column'
    """
    if isinstance(error, PenstockError):
        return redact(" ".join(str(error).split()))[:500], ""
    java = getattr(error, "java_exception", None)
    text = str(error) if java is None else f"{java.toString()}\n{java.getCause().toString() if java.getCause() else ''}"
    text = redact(text)
    found = list(_PYTHON.finditer(text))
    if found:
        shown = found[-1]
        return shown["last"].strip()[:500], shown[0]
    if java is not None or type(error).__module__.startswith("pyspark"):
        return first_sentence(text), redact("".join(traceback.format_exception(error)))[:LONGEST_TRACEBACK] if error.__traceback__ else ""
    own = redact("".join(traceback.format_exception(error))) if error.__traceback__ else text
    return f"{type(error).__name__}: {text.splitlines()[0] if text else ''}"[:500], own[:LONGEST_TRACEBACK]


def first_sentence(text: str) -> str:
    """Return the first line of one of Spark's messages that names an error."""
    lines = [line.strip() for line in _NOISE.sub("", text).splitlines() if line.strip() and not line.startswith("===")]
    telling = [line for line in lines if re.search(r"Exception|Error|\[[A-Z_.]+\]", line)]
    return (telling[0] if telling else lines[0] if lines else "unknown error")[:500]
