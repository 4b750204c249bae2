import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.simulator.crew import Crew, Newcomer

EXECUTORS, ARRIVALS = st.integers(1, 8), st.lists(st.floats(0.0, 12.0), max_size=6)


def crew_of(tasks: int, executors: int, slots_each: int, arrivals: list[float]) -> Crew:
    """Those that come are listed in the order they come."""
    crew = Crew(tasks=tasks, slots_each=slots_each, executors=tuple(str(number) for number in range(executors)))
    for number, from_wave in enumerate(sorted(arrivals)):
        crew = crew.joined(Newcomer(executor_id=f"new {number}", from_wave=from_wave))
    return crew


def scheduled(tasks: int, executors: int, slots_each: int, arrivals: list[float]) -> float:
    """When the last task ends if each goes to the slot that is free first, task by task."""
    free = [0.0] * (executors * slots_each) + [each for each in arrivals for _ in range(slots_each)]
    heapq.heapify(free)
    ends = 0.0
    for _ in range(tasks):
        ends = max(ends, heapq.heappushpop(free, free[0] + 1.0) + 1.0)
    return ends


@given(tasks=st.integers(1, 60), executors=EXECUTORS, slots_each=st.integers(1, 3), arrivals=ARRIVALS)
def test_a_crew_is_done_when_a_schedule_made_task_by_task_is(tasks: int, executors: int, slots_each: int, arrivals: list[float]) -> None:
    assert crew_of(tasks, executors, slots_each, arrivals).waves == pytest.approx(scheduled(tasks, executors, slots_each, arrivals), abs=1e-6)


@given(tasks=st.integers(1, 60), executors=EXECUTORS, slots_each=st.integers(1, 3), arrivals=ARRIVALS, turn=st.integers(0, 9))
def test_every_task_is_done_by_somebody(tasks: int, executors: int, slots_each: int, arrivals: list[float], turn: int) -> None:
    crew = crew_of(tasks, executors, slots_each, arrivals)
    each = crew.tasks_of_each(turn)
    assert sum(each) == tasks and len(each) == len(crew.everyone) and min(each) >= 0


@given(tasks=st.integers(1, 60), executors=EXECUTORS, arrivals=ARRIVALS, one_more=st.floats(0.0, 12.0))
def test_whoever_comes_never_slows_the_others_down(tasks: int, executors: int, arrivals: list[float], one_more: float) -> None:
    assert crew_of(tasks, executors, 1, [*arrivals, one_more]).waves <= crew_of(tasks, executors, 1, arrivals).waves + 1e-9


def test_in_the_last_wave_there_is_nothing_left_to_do() -> None:
    crew = crew_of(8, 4, 1, [])
    assert crew.joined(Newcomer(executor_id="late", from_wave=1.2)) is crew
    assert crew.joined(Newcomer(executor_id="in time", from_wave=0.8)).tasks_of_each(0) == [2, 2, 2, 1, 1]
