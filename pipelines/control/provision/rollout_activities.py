"""The provisioner's activities in the registers of the sides, while it writes steps up of rollouts."""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.stability import Stability
from shared.dynamodb.activity_register import LEASE_SECONDS, ActivityRegister, LostError, Waits

_STABLE: Final = Stability(stable=True)
"""The health that each side's own card reports: without that no step up is asked for."""


class Granted(Struct, frozen=True):
    """Steps may be written."""

    guards: Sequence[dict[str, Any]]
    """Items that let a transaction fail once one of the activities is over."""


class Refused(Struct, frozen=True):
    """Steps have to wait."""

    side: str
    reasons: Sequence[str]
    """Reasons for operators; they name the actors."""


class RolloutActivities:
    """One activity a side for all steps of a look. Safe to call from any thread; methods raise StoreError."""

    def __init__(
        self, register_of: Callable[[str], ActivityRegister], lease_seconds: float = LEASE_SECONDS
    ) -> None:
        """`register_of` opens a side's; after `lease_seconds` without `beat` an activity is over."""
        self._register_of, self._lease_seconds = register_of, lease_seconds
        self._registers: dict[str, ActivityRegister] = {}
        self._held: dict[str, Activity] = {}
        self._lock = threading.Lock()

    def begin(self, sides: Iterable[str], reason: str) -> Granted | Refused:
        """Begin on all sides, or on none.

        It leaves no wish, as it is asked again at the next look: a wish would keep a second maintenance
        waiting for as long as the first one lasts. Nothing is kept of one side while another refuses: who
        waits for it may hold the other.

        Args:
            sides: on which the steps act; none of them may be held.
            reason: for people.
        """
        with self._lock:
            guards = []
            for side in sorted(sides):
                register = self._register(side)
                found = register.begin_without_wish(
                    Action.ROLLOUT_STEP, reason, _STABLE, lease_seconds=self._lease_seconds
                )
                if isinstance(found, Waits):
                    self._end()
                    return Refused(side, found.reasons)
                self._held[side] = found
                guards.append(register.guard(found))
            return Granted(guards)

    def beat(self) -> None:
        """Keep what is held alive. The guards of what was taken away fail in any case."""
        with self._lock:
            for side, held in list(self._held.items()):
                try:
                    self._held[side] = self._registers[side].renew(held)
                except LostError:
                    del self._held[side]

    def end(self) -> None:
        """End what is held; to be called again if it fails."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        for side, held in list(self._held.items()):
            self._registers[side].end(held)
            del self._held[side]

    def _register(self, side: str) -> ActivityRegister:
        if side not in self._registers:
            self._registers[side] = self._register_of(side)
        return self._registers[side]
