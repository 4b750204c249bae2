from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.secrets import Resolved, resolve


def resolved(tree: object, folder: Path = Path("/nowhere"), **environ: str) -> Resolved:
    return resolve(tree, folder=folder, environ=environ)


def test_secrets_are_put_in_and_remembered_by_part_and_as_a_whole_but_not_if_empty() -> None:
    assert resolved({"password": "${env:P}"}, P="hunter2") == Resolved(value={"password": "hunter2"}, secrets=frozenset({"hunter2"}), problems=())
    found = resolved("user=${env:U};password=${env:P}", U="ann", P="hunter2")
    assert found.value == "user=ann;password=hunter2" and found.secrets == {"ann", "hunter2", "user=ann;password=hunter2"}
    assert resolved("${env:P}", P="") == Resolved(value="", secrets=frozenset(), problems=())


@pytest.mark.parametrize(
    ("content", "secret"), [("hunter2\n", "hunter2"), ("hunter2\r\n", "hunter2"), ("hunter2", "hunter2"), ("a\n\n", "a\n"), (" a ", " a ")]
)
def test_a_file_is_read_without_its_last_line_end(tmp_path: Path, content: str, secret: str) -> None:
    (tmp_path / "secret").write_bytes(content.encode())
    assert resolved("${file:secret}", tmp_path).value == secret
    assert resolved(f"${{file:{tmp_path}/secret}}").value == secret


def test_the_long_lines_of_a_secret_with_several_lines_are_hidden_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("{\n  MIIEvQIBADANBg\n}\n")
    assert resolved("${file:key}", tmp_path).secrets == {"{\n  MIIEvQIBADANBg\n}", "MIIEvQIBADANBg"}


@pytest.mark.parametrize(
    ("tree", "value"),
    [
        ({"a": [{"b": "${env:P}"}, "plain", 5, True]}, {"a": [{"b": "hunter2"}, "plain", 5, True]}),
        ("$${env:P}", "${env:P}"),
        ("a $${ b", "a ${ b"),
        ("$5 and {x}", "$5 and {x}"),
        ("$$", "$$"),
        ("$${env:P}${env:P}", "${env:P}hunter2"),
        ("${env:NESTED}", "${env:P}"),
    ],
    ids=["in lists and tables", "escaped", "an open brace", "no brace before", "two dollars", "escaped and not", "a secret that names a secret"],
)
def test_secrets_are_put_in_their_places_once_and_two_dollars_are_an_escape(tree: object, value: object) -> None:
    assert resolved(tree, P="hunter2", NESTED="${env:P}").value == value


def test_every_missing_secret_is_a_problem_of_its_own_key() -> None:
    found = resolved({"a": "${env:P}", "b": [1, "${env:Q}${env:OTHER}"]}, OTHER="hunter2")
    assert found.problems == ((("a",), "the environment variable P is not set"), (("b", 1), "the environment variable Q is not set"))


@pytest.mark.parametrize("text", ["${PASSWORD}", "${env:P", "${env:}", "${vault:x}", "${file:${env:P}}", "${ENV:P}"])
def test_a_mark_that_is_none_is_a_problem_and_not_passed_on(text: str) -> None:
    [(keys, problem), *_] = resolved({"k": text}, P="hunter2").problems
    assert keys == ("k",)
    assert problem == 'a "${" is followed by something else than env:NAME} or file:path}; write "$${" where a plain "${" is meant'


def test_a_file_that_cannot_be_read_is_a_problem_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"hunter2\xff")
    (tmp_path / "large").write_bytes(b"x" * 2_000_000)
    (tmp_path / "folder").mkdir()
    tree = ["${file:none}", "${file:binary}", "${file:large}", "${file:folder}", "${file:a\0b}"]
    assert [problem for _, problem in resolved(tree, tmp_path).problems] == [
        f"the file {tmp_path}/none cannot be read (No such file or directory)", f"the file {tmp_path}/binary is not UTF-8 text",
        f"the file {tmp_path}/large is larger than 1 MiB, too large for a secret", f"the file {tmp_path}/folder cannot be read (Is a directory)",
        f"the file {tmp_path}/a\0b cannot be read (not a path)",
    ]  # fmt: skip


@given(before=st.text(alphabet="ab= ;$"), secret=st.text(min_size=1), after=st.text(alphabet="ab= ;}{"))
def test_any_secret_in_any_text_is_put_in_and_remembered(before: str, secret: str, after: str) -> None:
    found = resolved(f"{before.rstrip('$')}${{env:S}}{after}", S=secret)
    assert found.value == before.rstrip("$") + secret + after
    assert {secret, found.value} <= found.secrets
