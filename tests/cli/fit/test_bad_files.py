from itertools import product
from pathlib import Path

import pytest
from asked import mistake

CAPACITY, SCALEOUT, FORECAST = "t_s,worker,utilization,throughput\n", "scaleout,throughput\n", "t,rate\n"
RECOVERY, LATENCY, PROFILE = "interval_s,rate,recovery_s\n", "interval_s,rate,latency_ms\n", "scaleout,rate,latency_ms\n"
TOOLS: dict[tuple[str, ...], str] = {
    ("fit", "capacity"): CAPACITY,
    ("fit", "scaleout"): SCALEOUT,
    ("fit", "recovery"): RECOVERY,
    ("fit", "latency"): LATENCY,
    ("fit", "profile"): PROFILE,
}

MAY_BE_EMPTY = (("fit", "capacity"), "")
CELLS = [each for each in product(TOOLS, ["many", "-5", "nan", "inf", "", "1e30"]) if each != MAY_BE_EMPTY]


def refused(folder: Path, command: tuple[str, ...], text: str) -> str:
    path = folder / "given.csv"
    path.write_text(text)
    return mistake(*command, path)


@pytest.mark.parametrize("command", [*TOOLS, ("forecast",)])
def test_a_file_without_anything_in_it_is_one_line(tmp_path: Path, command: tuple[str, ...]) -> None:
    assert "it is empty" in refused(tmp_path, command, "")
    assert "a header and no rows" in refused(tmp_path, command, TOOLS.get(command, FORECAST))
    assert "No such file" in mistake(*command, tmp_path / "absent.csv")


@pytest.mark.parametrize(("command", "cell"), CELLS)
def test_a_cell_that_is_no_number_of_its_column_is_named_with_its_row(tmp_path: Path, command: tuple[str, ...], cell: str) -> None:
    """Whatever the first rows hold: the last column is a rate, a time or a latency in all tools."""
    names = TOOLS[command].strip().split(",")
    rows = [",".join("0.5" if name == "utilization" else str(number) for name in names) for number in (1, 2, 3)]
    wrong = ",".join([*rows[1].split(",")[:-1], cell])
    said = refused(tmp_path, command, TOOLS[command] + "\n".join([rows[0], wrong, rows[2]]) + "\n")
    assert "row 2" in said and f"{names[-1]} is {f'{chr(34)}{cell}{chr(34)}' if cell else 'nothing'}" in said and "is needed" in said


@pytest.mark.parametrize(
    ("command", "text", "said"),
    [
        (("fit", "capacity"), "t_s,worker,cpu,throughput\n0,a,1,1\n", "the column utilization is missing"),
        (("fit", "capacity"), CAPACITY + "0,a,70,1\n", 'utilization is "70", a number from 0 to 1.2 is needed'),
        (("fit", "capacity"), CAPACITY + "0,a,0.5,10\n", "1 of 1 moments can be used"),
        (("fit", "scaleout"), SCALEOUT + "0,5\n", "scaleout is"),
        (("fit", "scaleout"), SCALEOUT + "2,0\n4,0\n", 'throughput is "0", a number above 0 is needed'),
        (("fit", "scaleout"), SCALEOUT + "2,\n", "throughput is nothing, a number above 0 is needed"),
        (("fit", "scaleout"), SCALEOUT + "2.5,100\n", 'scaleout is "2.5", a whole number from 1 to 10000 is needed'),
        (("fit", "scaleout"), SCALEOUT + "20000,100\n", 'scaleout is "20000", a whole number from 1 to 10000 is needed'),
        (("fit", "recovery"), RECOVERY + "10,100,60\n", "1 recoveries seen, 4 needed"),
        (("fit", "recovery"), RECOVERY + "10,100,0\n", 'recovery_s is "0", a number above 0 is needed'),
        (("fit", "recovery"), RECOVERY + "0,100,60\n", 'interval_s is "0", a number above 0 is needed'),
        (("fit", "recovery"), RECOVERY + "10,-1,60\n", 'rate is "-1", a number of at least 0 is needed'),
        (("fit", "recovery"), RECOVERY + "10,100,60\n10,120,70\n10,140,75\n10,150,90\n10,160,95\n", "all rows are of one interval"),
        (("fit", "recovery"), RECOVERY + "10,100,60\n10,120,70\n10,140,75\n10,150,90\n10,160,95\n", "take --leave-out one"),
        (("fit", "recovery", "--leave-out", "one"), RECOVERY + "10,100,60\n" * 6, "all rows are the same"),
        (("fit", "recovery"), "interval_s,rate,scaleout,recovery_s\n10,100,1.5,60\n", 'scaleout is "1.5", a whole number of at least 1 is needed'),
        (("fit", "latency"), LATENCY + "10,100,0\n", 'latency_ms is "0", a number above 0 is needed'),
        (("fit", "latency"), LATENCY + "10,100,60\n", "1 latencies seen, 4 needed"),
        (("fit", "latency"), LATENCY + "10,100,60\n10,100,61\n10,100,62\n10,100,59\n", "take --leave-out one"),
        (("fit", "profile"), PROFILE + "2,100,60\n", "at least 4 different numbers of executors and rates"),
        (("fit", "profile"), PROFILE + "2,100,60\n" * 9, "profiled at 1 of at least 4"),
        (("fit", "profile"), PROFILE + "2,100,0\n", 'latency_ms is "0", a number above 0 is needed'),
        (("fit", "profile"), PROFILE + "0,100,5\n", 'scaleout is "0", a whole number of at least 1 is needed'),
        (("fit", "profile"), "scaleout,rate,latency_ms,valid\n2,100,60,maybe\n", 'valid is "maybe", 1 or 0 is needed'),
        (("fit", "profile"), "scaleout,rate,latency_ms,valid\n2,100,60,0.5\n", 'valid is "0.5", 1 or 0 is needed'),
        (("fit", "profile"), "scaleout,rate,latency_ms,valid\n2,100,60,2\n", 'valid is "2", 1 or 0 is needed'),
        (("fit", "profile"), "scaleout,rate,latency_ms,valid\n2,10,60,0\n2,20,60,no\n2,30,60,0\n4,10,60,false\n", "kept up with any rate"),
        (("forecast",), FORECAST + "0,5\n", "0 s without a long gap at its end, 4500 s of history and horizon are needed"),
        (("forecast",), FORECAST + "0,\n1,\n", "no row has a rate"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(tmp_path: Path, command: tuple[str, ...], text: str, said: str) -> None:
    assert said in refused(tmp_path, command, text)
