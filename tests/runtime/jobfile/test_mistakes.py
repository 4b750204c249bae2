import traceback
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.core.errors import UserMistake
from penstock.runtime.jobfile import load_job

SOURCES = '[sources.clicks]\nformat = "trace"\n'
QUERY = '[queries.a]\nfunction = "job.py:f"\n'
SINK = '[queries.a.sink]\nformat = "noop"\n'
RIGHT = SOURCES + QUERY + SINK
NAME_ALLOWED = 'a name of at most 100 letters, digits, "_", "." and "-" that starts with a letter, a digit or "_" is allowed'
FUNCTION_ALLOWED = 'a function such as "job.py:enrich" or "package.module:enrich" is allowed'
TRIGGER_ALLOWED = 'a time ("5s"), "asap", "available-now", { real_time = "15s" } or { processing_time = "5s" } is allowed'
DURATION_ALLOWED = 'a duration above 0 such as "500ms", "5s", "2m" or "1h30m" is allowed'
RATE_ALLOWED = 'a rate above 0 such as "20000/s", "20k/s" or "1.5M/s" is allowed'
MASTER_ALLOWED = '"embedded" or a Spark master such as "spark://host:7077", "yarn" or "k8s://https://host:443" (not Spark Connect) is allowed'
METRICS_ALLOWED = '"off" or an address such as "127.0.0.1:9464" is allowed'


def line(folder: Path, text: str | bytes, **environ: str) -> str:
    """What `load_job` says about a file, from its name on."""
    (folder / "job.py").touch()
    (folder / "job.toml").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(UserMistake) as caught:
        load_job(folder / "job.toml", environ=environ)
    said = str(caught.value)
    assert "\n" not in said
    assert "pydantic" not in said
    assert said.startswith(f"{folder}/job.toml: ")
    return said.removeprefix(f"{folder}/job.toml: ")


SINGLE_VALUES = [
    ("[limits]\nmax_executors = 0", "limits.max_executors: found 0, a whole number of at least 1 is allowed"),
    ("[limits]\nmax_executors = 2.5", "limits.max_executors: found 2.5, a whole number of at least 1 is allowed"),
    ("[limits]\nmax_executors = true", "limits.max_executors: found true, a whole number of at least 1 is allowed"),
    ('[limits]\nmax_executors = "many"', 'limits.max_executors: found "many", a whole number of at least 1 is allowed'),
    ("[limits]\nmax_executors = [4]", "limits.max_executors: found [4], a whole number of at least 1 is allowed"),
    ("[limits]\nmax_executors = nan", "limits.max_executors: found nan, a whole number of at least 1 is allowed"),
    ("[limits]\nmin_executors = 5", "limits.min_executors: found 5, at most limits.max_executors (4) is allowed"),
    ("[limits]\nmin_executors = 5\nmax_executors = 3", "limits.min_executors: found 5, at most limits.max_executors (3) is allowed"),
    ("[limits]\nstart_executors = 9", "limits.start_executors: found 9, a whole number from limits.min_executors (1) to limits.max_executors (4) is allowed"),
    ("[limits]\nmax_executor = 3", 'limits.max_executor: unknown key, did you mean "max_executors"?'),
    ("[limits]\ncolour = 3", "limits.colour: unknown key, allowed are min_executors, max_executors, start_executors"),
    ("limits = 4", "limits: found 4, a table is allowed"),
    ('[promises]\nlatency_p95 = "soon"', f'promises.latency_p95: found "soon", {DURATION_ALLOWED}'),
    ('[promises]\nlatency_p95 = "0s"', f'promises.latency_p95: found "0s", {DURATION_ALLOWED}'),
    ("[promises]\nrecovery = -1", f"promises.recovery: found -1, {DURATION_ALLOWED}"),
    (f"[promises]\nrecovery = 1{'0' * 400}", f"promises.recovery: found 1{'0' * 79}..., {DURATION_ALLOWED}"),
    ("[promises]\nlatency = 1", 'promises.latency: unknown key, did you mean "latency_p95"?'),
    ('name = "my job"', f'name: found "my job", {NAME_ALLOWED}'),
    ('name = ""', f'name: found "", {NAME_ALLOWED}'),
    ('name = "../up"', f'name: found "../up", {NAME_ALLOWED}'),
    ("name = 5", f"name: found 5, {NAME_ALLOWED}"),
    ('master = "embeded"', f'master: found "embeded", {MASTER_ALLOWED}'),
    ('master = "sc://host"', f'master: found "sc://host", {MASTER_ALLOWED}'),
    ('checkpoint = ""', 'checkpoint: found "", a folder or a URI such as s3a://bucket/checkpoint is allowed'),
    ("checkpoint = 1979-05-27", "checkpoint: found 1979-05-27, a folder or a URI such as s3a://bucket/checkpoint is allowed"),
    ("metrics = 9464", f"metrics: found 9464, {METRICS_ALLOWED}"),
    ('metrics = "localhost:99999"', f'metrics: found "localhost:99999", {METRICS_ALLOWED}'),
    ('metrics = "localhost"', f'metrics: found "localhost", {METRICS_ALLOWED}'),
    ("[settings]\nreading_interval_s = 0", 'settings.reading_interval_s: found 0, a number, or a duration such as "5s", from 0.2 to 600 seconds is allowed'),
    ('[settings]\nhold_s = "soon"', 'settings.hold_s: found "soon", a number, or a duration such as "5s", from 1 to 2592000 seconds is allowed'),
    ("[settings]\nrestart_budget = 1.5", "settings.restart_budget: found 1.5, a whole number from 0 to 1000 is allowed"),
    ('[settings]\nhistory_days = "5s"', 'settings.history_days: found "5s", a number from 0.01 to 3650 is allowed'),
    ("[settings]\nreading_intervall_s = 5", 'settings.reading_intervall_s: unknown key, did you mean "reading_interval_s"?'),
    ('[spark]\n"spark.x" = [1]', 'spark."spark.x": found [1], a text, a number, true or false is allowed'),
    ('[spark]\n"executor.memory" = "1g"', 'spark."executor.memory": a name that starts with "spark." is allowed (Hadoop\'s with "spark.hadoop.")'),
    ('[spark]\n"spark.x" = 1\nspark.x = 2', 'spark.spark.x: the option "spark.x" is there twice (Spark takes capital and small letters for the same)'),
    ("spark = 1", "spark: found 1, a table is allowed"),
    ("querys = 1", 'querys: unknown key, did you mean "query"?'),
    (
        "xyz = 1",
        "xyz: unknown key, allowed are name, master, checkpoint, metrics, limits, promises, sources, queries, kafka, cpu, autopilot, settings, spark, "
        "query, source, sink",
    ),
]


@pytest.mark.parametrize(("text", "said"), SINGLE_VALUES)
def test_a_wrong_value_is_named_with_what_is_allowed(tmp_path: Path, text: str, said: str) -> None:
    assert line(tmp_path, f"{text}\n{RIGHT}") == said


IN_A_QUERY = [
    ("trigger = true", f"queries.a.trigger: found true, {TRIGGER_ALLOWED}"),
    ('trigger = "often"', f'queries.a.trigger: found "often", {TRIGGER_ALLOWED}'),
    ('trigger = { real_time = "soon" }', f'queries.a.trigger: found {{ real_time = "soon" }}, {TRIGGER_ALLOWED}'),
    ('trigger = { real_time = "0s" }', f'queries.a.trigger: found {{ real_time = "0s" }}, {TRIGGER_ALLOWED}'),
    ('trigger = { once = "5s" }', f'queries.a.trigger: found {{ once = "5s" }}, {TRIGGER_ALLOWED}'),
    ("trigger = {}", f"queries.a.trigger: found an empty table, {TRIGGER_ALLOWED}"),
    ('rate_limit = "fast"', f'queries.a.rate_limit: found "fast", {RATE_ALLOWED}'),
    ("rate_limit = 0", f"queries.a.rate_limit: found 0, {RATE_ALLOWED}"),
    ('output_mode = "replace"', 'queries.a.output_mode: found "replace", one of "append", "update", "complete" is allowed'),
    ("priority = 0", "queries.a.priority: found 0, a whole number of at least 1 is allowed"),
    ("minimum_accuracy = 1.5", "queries.a.minimum_accuracy: found 1.5, a number from 0 to 1 is allowed"),
    ("minimum_accuracy = -0.1", "queries.a.minimum_accuracy: found -0.1, a number from 0 to 1 is allowed"),
    ("minimum_accuracy = nan", "queries.a.minimum_accuracy: found nan, a number from 0 to 1 is allowed"),
    ('sources = "clicks"', 'queries.a.sources: found "clicks", a list of names of sources such as ["clicks"] is allowed'),
    ("sources = []", 'queries.a.sources: found an empty list, a list of names of sources such as ["clicks"] is allowed'),
    ("sources = [1]", 'queries.a.sources: found [1], a list of names of sources such as ["clicks"] is allowed'),
    ('sources = ["click"]', 'queries.a.sources: found "click", there is no such source; there are clicks'),
    ('sources = ["clicks", "clicks"]', 'queries.a.sources: found "clicks" twice, each source once is allowed'),
    (
        'trigger = { real_time = "5s" }\nrate_limit = "9/s"',
        "queries.a.rate_limit: Spark keeps to no rate limit in Real-Time Mode, it reads rows as they come: choose micro-batches, or no limit",
    ),
    ('triger = "5s"', 'queries.a.triger: unknown key, did you mean "trigger"?'),
]


@pytest.mark.parametrize(("text", "said"), IN_A_QUERY)
def test_a_wrong_value_of_a_query_is_named_with_what_is_allowed(tmp_path: Path, text: str, said: str) -> None:
    assert line(tmp_path, SOURCES + QUERY + text + "\n" + SINK) == said


@pytest.mark.parametrize("function", ["enrich", "job.py", "job.py:", ":enrich", "job.py:1x", "a b:f", "job.py:f g", ""])
def test_a_function_is_a_file_or_module_a_colon_and_a_name(tmp_path: Path, function: str) -> None:
    assert line(tmp_path, SOURCES + QUERY.replace("job.py:f", function) + SINK) == f'queries.a.function: found "{function}", {FUNCTION_ALLOWED}'


WHOLE_FILES = [
    ("", "queries: there is none, a job needs a [query] table, or [queries.NAME] tables (and 1 more)"),
    (SOURCES, "queries: there is none, a job needs a [query] table, or [queries.NAME] tables"),
    (QUERY + SINK, "sources: there is none, a job needs a [source] table, or [sources.NAME] tables"),
    (SOURCES + QUERY, "queries.a.sink: missing, a table is needed"),
    (SOURCES + "[queries.a]\n" + SINK, 'queries.a.function: missing, a function such as "job.py:enrich" or "package.module:enrich" is needed'),
    (SOURCES + QUERY.replace("function", "fuction") + SINK, 'queries.a.fuction: unknown key, did you mean "function"? (and 1 more)'),
    (
        '[sources.b]\nfromat = "trace"\n' + QUERY + SINK,
        'sources.b.format: missing, a format such as "trace", "kafka" or "parquet" is needed; is "fromat" meant to be it?',
    ),
    (SOURCES + '[sources.b]\nformat = "trace"\n' + QUERY + SINK, "queries.a.sources: missing, name those of the 2 sources that this query reads (clicks, b)"),
    (SOURCES + QUERY + "[queries.a.sink]\npath = 'x'", "queries.a.sink: found neither format nor foreach_batch, one of the two is needed"),
    (RIGHT + 'foreach_batch = "job.py:w"', "queries.a.sink: found both format and foreach_batch, one of the two is needed"),
    (
        RIGHT + 'checkpointLocation = "x"',
        'queries.a.sink: found the option "checkpointLocation", only "checkpoint" at the top of the file is allowed: every query has its folder in there',
    ),
    (RIGHT + "numRows = [1]", "queries.a.sink.numRows: found [1], a text, a number, true or false is allowed"),
    (
        RIGHT + "numRows = 1\noptions.numrows = 2",
        'queries.a.sink.options.numrows: the option "numrows" is there twice (Spark takes capital and small letters for the same)',
    ),
    (SOURCES + QUERY + '[queries.a.sink]\nforeach_batch = "write"', f'queries.a.sink.foreach_batch: found "write", {FUNCTION_ALLOWED}'),
    ('[sources."a b"]\nformat = "trace"\n' + QUERY + SINK, f'sources."a b": {NAME_ALLOWED}'),
    (SOURCES + QUERY.replace("queries.a", 'queries."a/b"') + SINK.replace("queries.a", 'queries."a/b"'), f'queries."a/b": {NAME_ALLOWED}'),
    ("sources = 5\n" + QUERY + SINK, "sources: found 5, a table is allowed"),
    ("query = 5\n" + SOURCES, "query: found 5, a table is allowed"),
    ('queries = 5\n[query]\nfunction = "m:f"\n[sink]\nformat = "noop"\n' + SOURCES, "queries: found 5, a table is allowed"),
    (SOURCES + '[query]\nfunction = "m:f"\ntrigger = "x"\n[sink]\nformat = "noop"', f'query.trigger: found "x", {TRIGGER_ALLOWED}'),
    (SOURCES + '[query]\nfunction = "m:f"\n[sink]\nformat = 5', 'sink.format: found 5, a format such as "parquet", "kafka" or "console" is allowed'),
    ("[source]\n" + QUERY + SINK, 'source.format: missing, a format such as "trace", "kafka" or "parquet" is needed'),
    (RIGHT + "[sink]\nformat = 'noop'", "sink: [queries.a.sink] is the same table; keep one of the two"),
    (
        RIGHT + "[queries.b]\nfunction = 'm:f'\n[sink]\nformat = 'noop'",
        "sink: [sink] is for a job of one query, here are 2; write [queries.NAME.sink] (and 1 more)",
    ),
    ("name = 'a'\n[query]\n" + RIGHT, "query: [queries.a] is the same table; keep one of the two"),
    (RIGHT.replace("clicks", "source") + "[source]\nformat = 'x'", "source: [sources.source] is the same table; keep one of the two"),
    (
        "name = 'a b'\n[limits]\nmax_executors = 0\nx = 1\n" + RIGHT,
        "limits.x: unknown key, allowed are min_executors, max_executors, start_executors (and 2 more)",
    ),
]


@pytest.mark.parametrize(("text", "said"), WHOLE_FILES)
def test_a_file_whose_tables_do_not_go_together_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert line(tmp_path, text) == said


def test_a_function_file_that_is_not_there_or_that_no_file_can_be_is_named(tmp_path: Path) -> None:
    text = SOURCES + QUERY.replace("job.py", "code/none.py") + '[queries.a.sink]\nforeach_batch = "/none.py:write"'
    assert line(tmp_path, text) == f'queries.a.function: found "code/none.py:f", but there is no file {tmp_path}/code/none.py (and 1 more)'
    for name in ("x" * 300, "a\\u0000b"):
        assert "but there is no file" in line(tmp_path, SOURCES + QUERY.replace("job.py", f"{name}.py") + SINK)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = lookup\n", "not valid TOML: Invalid value (at line 1, column 8)"),
        ("[limits]\nmax_executors", "not valid TOML: Expected '=' after a key in a key/value pair (at line 2, column 14, the end of the file)"),
        ("name = 'a'\nname = 'b'\n", "not valid TOML: a key is there twice (at line 2, column 11)"),
        ("[limits]\n[limits]\n", "not valid TOML: Cannot declare ('limits',) twice (at line 2, column 8)"),
        (b"name = 'a'\ncheckpoint = '\xff'\n", "line 2 is not UTF-8 text; save the file as UTF-8"),
        ("x = " + "[" * 2000 + "]" * 2000, "tables and lists are nested too deeply, 30 levels are allowed"),
        (".".join("a" * 3000) + " = 1", "tables and lists are nested too deeply, 30 levels are allowed"),
    ],
)
def test_a_file_that_is_not_toml_is_refused_with_line_and_column(tmp_path: Path, text: str | bytes, said: str) -> None:
    assert line(tmp_path, text) == said


def test_a_number_of_too_many_digits_is_refused_in_one_line(tmp_path: Path) -> None:
    assert line(tmp_path, "x = " + "9" * 5000).startswith("not valid TOML: ")


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path, said in [
        (tmp_path / "none.toml", 'there is no such file; "penstock init" writes one to start from'),
        (tmp_path, f"this is a folder; give the job file in it, such as {tmp_path}/job.toml"),
        (Path(f"{tmp_path}/{'x' * 300}.toml"), "cannot be read (File name too long)"),
    ]:
        with pytest.raises(UserMistake) as caught:
            load_job(path)
        assert str(caught.value) == f"{path}: {said}"


SECRET = "hunter2-never-to-be-seen"

AT_SECRETS = [
    ('name = "${env:S}!"\n' + RIGHT, f'name: found "${{env:S}}!", {NAME_ALLOWED}'),
    ('master = "${env:S}"\n' + RIGHT, f'master: found "${{env:S}}", {MASTER_ALLOWED}'),
    ('metrics = "${env:S}"\n' + RIGHT, f'metrics: found "${{env:S}}", {METRICS_ALLOWED}'),
    ('[limits]\nmax_executors = "${env:S}"\n' + RIGHT, 'limits.max_executors: found "${env:S}", a whole number of at least 1 is allowed'),
    ('[promises]\nrecovery = "${env:S}"\n' + RIGHT, f'promises.recovery: found "${{env:S}}", {DURATION_ALLOWED}'),
    ('[autopilot]\nmode = "${env:S}"\n' + RIGHT, 'autopilot.mode: found "${env:S}", one of "observe", "shadow", "ask", "active" is allowed'),
    ('[settings]\nhistory_mb = "${env:S}"\n' + RIGHT, 'settings.history_mb: found "${env:S}", a number from 1 to 100000 is allowed'),
    ('[spark]\n"spark.x" = ["${env:S}"]\n' + RIGHT, 'spark."spark.x": found ["${env:S}"], a text, a number, true or false is allowed'),
    (SOURCES + QUERY + 'trigger = "${env:S}"\n' + SINK, f'queries.a.trigger: found "${{env:S}}", {TRIGGER_ALLOWED}'),
    (SOURCES + QUERY + 'trigger = { real_time = "${env:S}" }\n' + SINK, f'queries.a.trigger: found {{ real_time = "${{env:S}}" }}, {TRIGGER_ALLOWED}'),
    (SOURCES + QUERY + 'rate_limit = "${env:S}"\n' + SINK, f'queries.a.rate_limit: found "${{env:S}}", {RATE_ALLOWED}'),
    (SOURCES + QUERY + 'sources = ["${env:S}"]\n' + SINK, 'queries.a.sources: found "${env:S}", there is no such source; there are clicks'),
    (SOURCES + QUERY.replace("job.py:f", "${env:S}") + SINK, f'queries.a.function: found "${{env:S}}", {FUNCTION_ALLOWED}'),
    (SOURCES + QUERY.replace("job.py:f", "${env:S}/x.py:f") + SINK, 'queries.a.function: found "${env:S}/x.py:f", but there is no such file'),
    ('limits = "${env:S}"\n' + RIGHT, 'limits: found "${env:S}", a table is allowed'),
    ('password = "${env:S}"\n' + RIGHT, None),
    (RIGHT + 'password = "${env:S}"\nother = "${env:MISSING}"', "queries.a.sink.other: the environment variable MISSING is not set"),
    (RIGHT + 'password = "${env:S}${file:none}"', None),
    (RIGHT + 'password = "${env:S}${S}"', None),
    ('name = "${env:S}"\n[query]\nfunction = "m:f"\n' + SOURCES, "query.sink: missing, a table is needed"),
]


@pytest.mark.parametrize(("text", "said"), AT_SECRETS)
def test_no_mistake_shows_what_a_secret_resolves_to(tmp_path: Path, text: str, said: str | None) -> None:
    found = line(tmp_path, text, S=SECRET)
    assert SECRET not in found
    assert said is None or found == said


def test_no_traceback_of_a_mistake_shows_what_a_secret_resolves_to(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text('[limits]\nmax_executors = "${env:S}"\n[promises]\nrecovery = "${env:S}"\n' + RIGHT)
    try:
        load_job(tmp_path / "job.toml", environ={"S": SECRET})
    except UserMistake as mistake:
        assert SECRET not in "".join(traceback.format_exception(mistake))
        assert mistake.__cause__ is None and mistake.__context__ is None
    else:
        pytest.fail("a mistake was expected")


scalars = st.one_of(st.integers(), st.booleans(), st.floats(), st.text(alphabet="ab:/.$ {}", max_size=8).map(lambda each: each.replace("$", "")))
keys = st.sampled_from(
    [
        *("name", "master", "limits", "sources", "queries", "query", "source", "sink", "spark", "settings", "format", "function", "options", "trigger", "x"),
        *("autopilot", "policy", "parameters", "calendar", "hours", "from"),
    ]
)
trees = st.recursive(scalars, lambda below: st.one_of(st.lists(below, max_size=2), st.dictionaries(keys, below, max_size=4)), max_leaves=12)


def in_toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {in_toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(in_toml(each) for each in value) + "]"
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else repr(value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(tree=st.dictionaries(keys, trees, max_size=6))
def test_any_tree_of_values_is_a_job_or_one_line(tmp_path: Path, tree: dict[str, object]) -> None:
    (tmp_path / "job.toml").write_text("\n".join(f"{key} = {in_toml(value)}" for key, value in tree.items()))
    try:
        load_job(tmp_path / "job.toml", environ={})
    except UserMistake as mistake:
        assert str(mistake).startswith(f"{tmp_path}/job.toml: ")
        assert "not valid TOML" not in str(mistake)
        assert "\n" not in str(mistake)
