from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from planned import DECLARED, Thumb, terms

from penstock.core.domain.command import Command
from penstock.core.domain.events.event import Event
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.terms import Terms
from penstock.core.redaction import Redactor
from penstock.runtime.controller import Controller
from penstock.runtime.desk import Desk
from penstock.runtime.fakes import FakeClock, FakePlant
from penstock.stores.in_memory import MemoryStore


class Busy(FakePlant):
    """A plant at which so many rows arrive."""

    rate = 300.0

    def read(self) -> Reading:
        return replace(super().read(), arrival_rows_per_s=self.rate)


class Prompt(Controller):
    """Turns as soon as somebody speaks, in his own thread."""

    def submit(self, command: Command) -> Future[list[Event]]:
        answer = super().submit(command)
        self.step()
        return answer


class AskingJob:
    """A job with three executors; an executor for every hundred rows/s is what its policy wants."""

    def __init__(self, under: Terms | None = None) -> None:
        self.clock = FakeClock()
        self.plant = Busy(self.clock, executors=DECLARED.executors)
        self.memory = MemoryStore()
        self.controller = Prompt(
            source=self.plant, actuator=self.plant, memory=self.memory, clock=self.clock, terms=under or terms("ask"), declared=DECLARED, policy=Thumb()
        )
        self.desk = Desk(controller=self.controller, clock=self.clock, redactor=Redactor(frozenset({"hunter2"})), status=lambda: {}, set_source_rate=None)

    def wait(self, seconds: float = 30.0) -> None:
        self.clock.wait(seconds)
        self.controller.step()

    def say(self, verb: str, who: str = "ann", **asked: Any) -> Mapping[str, Any]:
        return self.desk.handle(verb, asked, who)
