from pathlib import Path

from penstock.selftest.recorded_run import AFTER_S, CpuTime, cpu_time, stolen_spans, within


def at(second: float, stolen: int) -> CpuTime:
    return CpuTime(at_s=second, stolen=stolen, all=int(200 * second))


def test_the_kernel_is_asked_and_a_kernel_without_an_answer_is_no_error(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  10 1 2 80 3 0 1 7 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
    assert cpu_time(5.0, stat) == CpuTime(at_s=5.0, stolen=7, all=104)
    stat.write_text("cpu  10 1 2 80\n")
    assert cpu_time(5.0, stat) is None and cpu_time(5.0, tmp_path / "none") is None


def test_one_blink_is_too_little_two_spans_that_touch_are_one_and_a_moment_is_within_a_span_or_not() -> None:
    assert stolen_spans([at(0.0, 0), at(0.5, 60), at(1.0, 60), at(5.0, 60), at(10.0, 60)]) == (), "60 of 1,000 ticks in five seconds"
    twice = [at(0.0, 0), at(5.0, 300), at(10.0, 300), at(15.0, 600), at(20.0, 600), at(100.0, 600), at(105.0, 900)]
    assert stolen_spans(twice) == ((0.0, 15.0 + AFTER_S), (100.0, 105.0 + AFTER_S))
    assert within(3.0, [(1.0, 3.0)]) and not within(3.1, [(1.0, 3.0), (4.0, 5.0)])
