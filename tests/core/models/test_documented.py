import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "models.md"


def test_the_example_prints_what_is_written_beside_it() -> None:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(found[1], {})
    assert printed.getvalue().splitlines() == re.findall(r"^print.*?  # (.*)$", found[1], re.MULTILINE)
