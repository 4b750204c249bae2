"""References to functions, such as `job.py:enrich` or `package.module:enrich`."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from penstock.core.errors import UserMistake


def load_function(reference: str, folder: str | Path = ".", *, what: str = "function") -> Callable[..., Any]:
    """Return the function that `reference` names; files are searched in `folder`. Errors inside the user's module pass through.

    >>> load_function("json:loads")('[1]')
    [1]
    """
    module_text, _, name = reference.partition(":")
    if not module_text or not name:
        raise UserMistake(f'{what}: found {reference!r}, "file.py:name" or "package.module:name" is allowed')
    module = load_module(module_text, Path(folder), what)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        there = ", ".join(sorted(n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", None) == module.__name__)) or "none"
        raise UserMistake(f"{what}: {module_text} has no function {name!r}; there are: {there}")
    return found  # type: ignore[no-any-return]


def load_module(text: str, folder: Path, what: str) -> ModuleType:
    """Import a module by name, or by file, under the file's stem: so executors, to which the file is sent, find it."""
    return load_file(folder / text, what) if text.endswith(".py") else load_named(text, folder, what)


def load_named(name: str, folder: Path, what: str) -> ModuleType:
    if str(folder.resolve()) not in sys.path:
        sys.path.insert(0, str(folder.resolve()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if not f"{name}.".startswith(f"{missing.name}."):
            raise
        raise UserMistake(f"{what}: there is no module {name!r} here or in {folder}") from None


def load_file(path: Path, what: str) -> ModuleType:
    path = path.resolve()
    loaded = sys.modules.get(path.stem)
    file = Path(getattr(loaded, "__file__", None) or "")
    if loaded is not None and file.name == path.name and (not path.exists() or file.resolve() == path):
        return loaded
    if not path.exists():
        return load_shipped(path, what)
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(path.stem, None)
        raise
    return module


def load_shipped(path: Path, what: str) -> ModuleType:
    """Import the module of a file that was sent to this executor: it is not where the driver found it."""
    try:
        return importlib.import_module(path.stem)
    except ModuleNotFoundError as missing:
        if missing.name != path.stem:
            raise
        raise UserMistake(f"{what}: there is no file {path}") from None
