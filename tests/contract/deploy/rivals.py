"""Rivals of the deployer on each side, and its register, checked against the activities that they hold."""

from collections.abc import Callable
from typing import Any, Protocol
from uuid import uuid4

from shared.contracts.diamond.activities import Action, Activity, Actor
from shared.contracts.diamond.permission import reasons_to_wait
from shared.contracts.diamond.stability import Stability
from shared.dynamodb.activity_reader import ActivityReader
from shared.dynamodb.activity_register import ActivityRegister, Waits
from tests.contract.dynamodb.actors import STABLE, TABLE, Process

RIVALS: list[Actor] = [actor for actor in Actor if actor is not Actor.DEPLOYER]
Found = Activity | Waits


class Surroundings(Protocol):
    """The table that the sides share, the true time, the actors' clocks, and slow calls."""

    @property
    def url(self) -> str | None: ...

    @property
    def time(self) -> float: ...

    @property
    def skews(self) -> dict[Actor, float]: ...

    def true_ms(self) -> int: ...

    def take_time(self, what: str) -> None: ...


class SideOf:
    """One side as the actors of `tests.contract.dynamodb.actors` know it."""

    def __init__(self, diamond: Surroundings, name: str) -> None:
        self.diamond, self.name, self.gone = diamond, name, list[Process]()
        self.side, self.health, self.url = f"{name}-{uuid4().hex[:8]}", STABLE, diamond.url
        self.reader = ActivityReader(
            TABLE, diamond.url, side=self.side, clock=diamond.true_ms, monotonic=lambda: diamond.time
        )
        self.processes = {actor: Process(self, actor) for actor in RIVALS}

    @property
    def time(self) -> float:
        return self.diamond.time

    @property
    def skews(self) -> dict[Actor, float]:
        return self.diamond.skews

    def under_way(self, besides: Process | None = None) -> list[Activity]:
        """The activities that rivals hold and are sure of."""
        return [
            each.held
            for each in self.processes.values()
            if each is not besides and each.sure and each.held is not None
        ]


class CheckedRegister(ActivityRegister):
    """The deployer's register: checks each permission against the activities that are truly under way."""

    side_of: SideOf

    def begin(self, action: Action, reason: str, health: Stability, **how: Any) -> Found:
        return self._checked(
            action, health, lambda: super(CheckedRegister, self).begin(action, reason, health, **how)
        )

    def advance(self, held: Activity, action: Action, phase: str, health: Stability) -> Found:
        return self._checked(
            action, health, lambda: super(CheckedRegister, self).advance(held, action, phase, health)
        )

    def renew(self, held: Activity, phase: str | None = None) -> Activity:
        after = super().renew(held, phase)
        self.side_of.diamond.take_time("table")
        return after

    def _checked(self, action: Action, health: Stability, ask: Callable[[], Found]) -> Found:
        others = self.side_of.under_way()
        found = ask()
        self.side_of.diamond.take_time("table")
        if isinstance(found, Activity):
            assert not reasons_to_wait(action, others, health), (action, others)
        return found
