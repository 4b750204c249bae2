import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.core.errors import UserMistake
from penstock.references import load_function


@pytest.fixture(autouse=True)
def imports_are_put_back() -> Iterator[None]:
    modules, path = set(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - modules:
        del sys.modules[name]
    sys.path[:] = path


def test_a_function_in_a_file_is_found_under_the_name_executors_know(tmp_path: Path) -> None:
    (tmp_path / "job_one.py").write_text("def double(x):\n    return 2 * x\n")
    function = load_function("job_one.py:double", tmp_path)
    assert function(4) == 8
    assert function.__module__ == "job_one" and sys.modules["job_one"].double is function
    assert load_function("job_one.py:double", tmp_path) is function, "a file is loaded once"


def test_a_file_in_a_folder_may_import_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "beside_it.py").write_text("FACTOR = 3\n")
    (tmp_path / "jobs" / "job_two.py").write_text("from beside_it import FACTOR\n\ndef triple(x):\n    return FACTOR * x\n")
    assert load_function("jobs/job_two.py:triple", tmp_path)(2) == 6


def test_a_function_in_a_package_of_the_folder_is_found_and_so_is_a_method(tmp_path: Path) -> None:
    (tmp_path / "jobs_pkg").mkdir()
    (tmp_path / "jobs_pkg" / "enrich.py").write_text("class Steps:\n    @staticmethod\n    def first(x):\n        return x + 1\n")
    assert load_function("jobs_pkg.enrich:Steps.first", tmp_path)(1) == 2


def test_a_file_of_the_same_name_elsewhere_is_another_one(tmp_path: Path) -> None:
    for folder in ("left", "right"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "job_same.py").write_text(f"def where():\n    return {folder!r}\n")
    assert [load_function("job_same.py:where", tmp_path / folder)() for folder in ("left", "right")] == ["left", "right"]


def test_a_file_that_was_shipped_elsewhere_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job_shipped.py").write_text("def here():\n    return 'executor'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load_function("job_shipped.py:here", "/the/driver/had/it/here")() == "executor"


@pytest.mark.parametrize("reference", ["", "job.py", ":name", "job.py:"])
def test_what_names_no_function_is_refused_with_how_to_name_one(reference: str) -> None:
    with pytest.raises(UserMistake, match=r'^sink: found .*, "file\.py:name" or "package\.module:name" is allowed$'):
        load_function(reference, what="sink")


def test_a_file_or_a_module_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match=rf"^function: there is no file {tmp_path}/job_none\.py$"):
        load_function("job_none.py:x", tmp_path)
    for name in ("no_such_package", "no_such_package.module", "json.no_such_module"):
        with pytest.raises(UserMistake, match=f"there is no module '{name}' here or in"):
            load_function(f"{name}:x", tmp_path)


def test_a_name_that_is_no_function_is_refused_with_those_that_are(tmp_path: Path) -> None:
    (tmp_path / "job_three.py").write_text("from json import loads\nLIMIT = 3\ndef b():\n    pass\ndef a():\n    pass\n")
    for name in ("c", "LIMIT", "a.b.c"):
        with pytest.raises(UserMistake, match=rf"^function: job_three\.py has no function '{name}'; there are: a, b$"):
            load_function(f"job_three.py:{name}", tmp_path)


def test_an_error_inside_the_users_file_is_his_own_and_leaves_nothing_half_loaded(tmp_path: Path) -> None:
    (tmp_path / "job_bad.py").write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        load_function("job_bad.py:x", tmp_path)
    assert "job_bad" not in sys.modules


def test_a_module_that_the_users_own_module_misses_is_not_mistaken_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job_extra.py").write_text("import job_ex\n\ndef f():\n    pass\n")
    for reference in ("job_extra:f", "job_extra.py:f"):
        with pytest.raises(ModuleNotFoundError, match="'job_ex'"):
            load_function(reference, tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="'job_ex'"):
        load_function("job_extra.py:f", "/shipped/from/elsewhere")
