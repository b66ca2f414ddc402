"""The deployer's activities in the registers of the two sides: asked for at each step, and kept alive."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pipelines.control.deploy.policy import LOOKING, action_of, sides_of
from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.stability import SILENT, Stability
from shared.contracts.release_steps import Step
from shared.contracts.releases import Release
from shared.dynamodb.activity_register import LEASE_SECONDS, ActivityRegister, LostError, Waits

Health = Callable[[Release, str], Stability]
"""A side's health, as it counts for the present step of a release."""


class SidePermissions:
    """The deployer's permissions on the sides, as activities. Thread-safe; methods raise StoreError."""

    def __init__(
        self,
        registers: Mapping[str, ActivityRegister],
        health: Health,
        monotonic: Callable[[], float],
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        """`registers` by side; after `lease_seconds` without `beat` an activity is over."""
        self._registers, self._health = registers, health
        self._monotonic, self._lease_seconds = monotonic, lease_seconds
        self._held: dict[str, Activity] = {}
        self._beat_at: dict[str, float] = {}
        self._granted: dict[str, tuple[int, Step]] = {}
        self._lock = threading.Lock()

    def take(self, release: Release) -> Sequence[str]:
        """Why the present step has to wait on the sides that it acts on; empty if it may begin."""
        sides = sides_of(release)
        # Outside the lock: a meter that hangs must not keep activities from being kept alive.
        health = {side: self._health(release, side) for side in sides if not self._has(release, side)}
        with self._lock:
            return [
                f"{side}: {each}" for side in sides for each in self._taken(release, side, health.get(side))
            ]

    def sure(self, release: Release) -> bool:
        """Whether the present step may still act: no other actor can have taken its activities for dead."""
        with self._lock:
            now = self._monotonic()
            return all(
                side in self._held and now - self._beat_at[side] < self._lease_seconds
                for side in sides_of(release)
            )

    def held(self, side: str) -> Activity | None:
        """The activity that is held on a side, as far as it is known; None without one."""
        with self._lock:
            return self._held.get(side)

    def beat(self) -> None:
        """Keep what is held alive; what was taken away is known to be lost afterwards."""
        with self._lock:
            for side, held in list(self._held.items()):
                self._renew(side, held, held.phase)

    def guards(self) -> list[dict[str, Any]]:
        """Items that let a transaction fail unless all that is held is still held."""
        with self._lock:
            return [self._registers[side].guard(held) for side, held in self._held.items()]

    def let_go(self) -> None:
        """End all activities and wishes."""
        with self._lock:
            for side, register in self._registers.items():
                held = self._held.pop(side, None)
                if held is not None:
                    register.end(held)
                if self._granted.pop(side, None) is not None:
                    for action in (Action.REPLACE_CODE, Action.STEP_FORWARD):
                        register.withdraw(action)

    def _has(self, release: Release, side: str) -> bool:
        return side in self._held and self._granted.get(side) == (release.number, release.step)

    def _taken(self, release: Release, side: str, health: Stability | None) -> Sequence[str]:
        if self._has(release, side):
            return ()
        held, asked_at = self._held.get(side), self._monotonic()
        if held is not None and held.action is action_of(release) and release.step in LOOKING:
            held = self._renew(side, held, release.step)
            found: Activity | Waits | None = held
        else:
            found = self._asked(release, side, held, health or SILENT)
        if isinstance(found, Activity):
            self._keep(side, found, asked_at)
            self._granted[side] = (release.number, release.step)
            return ()
        self._granted.setdefault(side, (0, Step.PREFLIGHT))  # a wish is left, to be taken back
        return ("its activity was lost",) if found is None else found.reasons

    def _asked(
        self, release: Release, side: str, held: Activity | None, health: Stability
    ) -> Activity | Waits | None:
        register, action = self._registers[side], action_of(release)
        if held is None:
            reason, seconds = f"{release.kind} {release.version}", self._lease_seconds
            return register.begin(action, reason, health, phase=release.step, lease_seconds=seconds)
        try:
            return register.advance(held, action, release.step, health)
        except LostError:
            self._forget(side)
            return None

    def _renew(self, side: str, held: Activity, phase: str) -> Activity | None:
        asked_at = self._monotonic()
        try:
            after = self._registers[side].renew(held, phase)
        except LostError:
            self._forget(side)
            return None
        self._keep(side, after, asked_at)
        return after

    def _keep(self, side: str, held: Activity, asked_at: float) -> None:
        """Others may have seen the beat as soon as it was asked for, however late the table answered."""
        self._held[side], self._beat_at[side] = held, asked_at

    def _forget(self, side: str) -> None:
        del self._held[side]
        self._granted.pop(side, None)
