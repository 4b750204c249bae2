import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SRC = Path(__file__).parents[1] / "src" / "penstock"
FOR_OTHERS = {"attach", "awaitTermination", "count_rows", "FakePlant", "FolderBeside"}
"""What scripts and tests of users call: the package's own functions, the ledger's count, and the fakes of the ports."""
ABOUT_TO_BE_USED = {"ThroughputAndLag": 20, "score_detected": 20}
"""Names without a caller that an open issue is about to use, with its number."""


@cache
def defined() -> dict[str, str]:
    """Return where each public function, class and method is defined; what a decorator registers or a library calls back is left out."""
    found: dict[str, str] = {}
    for path in SRC.rglob("*.py"):
        for node in named_nodes(ast.parse(path.read_text())):
            found.setdefault(node.name, str(path.relative_to(SRC)))
    return found


def named_nodes(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    ours = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node
            if all(isinstance(base, ast.Name) and base.id in ours for base in node.bases):
                yield from (each for each in node.body if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"))
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not any(map(is_registered, node.decorator_list)):
            yield node


def is_registered(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).startswith("app.")


@cache
def uses() -> Counter[str]:
    """Return how often each name is used in code, or as the function of a reference such as "steer:rate"; an import alone is no use."""
    found: Counter[str] = Counter()
    for path in (*SRC.rglob("*.py"), *SRC.rglob("*.toml")):
        text = path.read_text()
        found.update(re.findall(r'"[\w.-]*:([A-Za-z_]\w*)"', text))
        if path.suffix == ".py":
            nodes = list(ast.walk(ast.parse(text)))
            found.update(node.id for node in nodes if isinstance(node, ast.Name))
            found.update(node.attr for node in nodes if isinstance(node, ast.Attribute))
    return found


def test_every_public_name_has_a_caller_but_what_is_kept_for_an_issue() -> None:
    assert {name: where for name, where in defined().items() if not uses()[name]}.keys() - FOR_OTHERS - ABOUT_TO_BE_USED.keys() == set()
    assert [name for name in ABOUT_TO_BE_USED if name not in defined() or uses()[name]] == []
