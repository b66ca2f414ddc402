"""The register of a side's activities: decides whether one may begin, and writes it unless another began.

Every beginning increments the side's serial, on the condition that it is unchanged since it was read: of two
that ask at the same moment one writes, and the other reads again. The same write deletes activities that are
over, on the condition that their beat has not moved. So an owner keeps its activity or learns of the loss.
"""

import random
import time
from collections.abc import Callable, Sequence
from typing import Any, Final
from uuid import uuid4

from botocore.exceptions import BotoCoreError, ClientError
from msgspec import Struct
from msgspec.structs import replace

from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.permission import reasons_to_wait, yields_to
from shared.contracts.diamond.stability import Stability
from shared.dynamodb import activity_rows as rows
from shared.dynamodb.activity_reader import ActivityReader, Register
from shared.dynamodb.activity_rows import ACTIVITY, WISH
from shared.dynamodb.client import CONDITION_FAILED, StoreError, cancellations, conflicts, dynamodb_client
from shared.runtime.clock import Clock

LEASE_SECONDS: Final = 15.0
"""An owner that is silent for so long has lost its activity."""

_MOST_OVER: Final = 20
_TRIES: Final = 20
_PAUSE_SECONDS: Final = 0.01
_LONGEST_PAUSE_SECONDS: Final = 0.2


class LostError(Exception):
    """An owner was silent for too long, and its activity is over: it has to stop what it does."""


class Waits(Struct, frozen=True):
    """An action may not begin now."""

    reasons: Sequence[str]


class ActivityRegister:
    """The activities that one process begins and ends on a side. For one thread; methods raise StoreError."""

    def __init__(  # noqa: PLR0913  # the register's place, who, and the world
        self,
        table: str,
        endpoint: str | None,
        *,
        side: str,
        owner: str,
        clock: Clock,
        monotonic: Callable[[], float],
        pause: Callable[[float], None] = time.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        """Open it.

        Args:
            table: the table of documents.
            endpoint: URL of DynamoDB Local; None is AWS.
            side: the side that the register is of.
            owner: names this process, and no other.
            clock: epoch milliseconds, for people, and for what never beats.
            monotonic: seconds of a clock that never goes back, for leases.
            pause: waits before another try.
            uniform: spaces tries out.
        """
        self._reader = ActivityReader(table, endpoint, side=side, clock=clock, monotonic=monotonic)
        self._client: Any = dynamodb_client(endpoint)
        self._table, self._side, self._owner = table, side, owner
        self._clock, self._pause, self._uniform = clock, pause, uniform

    def look(self) -> Register:
        """Activities under way, and wishes of those who wait."""
        return self._reader.look()

    def begin(  # noqa: PLR0913  # what, why and how
        self,
        action: Action,
        reason: str,
        health: Stability,
        *,
        phase: str = "",
        lease_seconds: float = LEASE_SECONDS,
        forced: bool = False,
    ) -> Activity | Waits:
        """Begin an action, or wish for it. To be asked again until it begins: that keeps the wish alive.

        Args:
            action: what to do.
            reason: for people.
            health: what observe says of the side now.
            phase: how far it is.
            lease_seconds: after so long without `renew` it is over.
            forced: an operator lets it through.
        """
        wanted = self._new(action, reason, phase, lease_seconds)
        return self._until_alone(lambda: self._decided(wanted, None, health, forced=forced))

    def begin_without_wish(
        self,
        action: Action,
        reason: str,
        health: Stability,
        *,
        lease_seconds: float = LEASE_SECONDS,
        forced: bool = False,
    ) -> Activity | Waits:
        """Begin an action if it may begin now; arguments as of `begin`.

        For a process that asks again soon, and a person who does not wait: older wishes go first.
        """
        wanted = self._new(action, reason, "", lease_seconds)
        return self._until_alone(lambda: self._begun_or_refused(wanted, health, forced=forced))

    def advance(self, held: Activity, action: Action, phase: str, health: Stability) -> Activity | Waits:
        """Go on to another action in the place of one that is held, if that may begin now.

        Raises:
            LostError: if it is not held any more.
        """
        wanted = replace(held, action=action, phase=phase)
        return self._until_alone(lambda: self._decided(wanted, held, health, forced=False))

    def renew(self, held: Activity, phase: str | None = None) -> Activity:
        """Beat, perhaps with another phase.

        Raises:
            LostError: if it is not held any more.
        """
        after = replace(held, beat=held.beat + 1, phase=held.phase if phase is None else phase)
        if not self._write([rows.changed(self._table, self._side, ACTIVITY, after, held)]):
            raise LostError(f"{held} was given up: it was silent for {held.lease_seconds:.0f} s")
        return after

    def end(self, held: Activity) -> None:
        """End an activity; nothing if it is over."""
        self._write([rows.removed(self._table, self._side, ACTIVITY, held)])

    def withdraw(self, action: Action) -> None:
        """Take back a wish."""
        own = self._own_wish(self.look(), action)
        if own is not None:
            self._write([rows.removed(self._table, self._side, WISH, own)])

    def guard(self, held: Activity) -> dict[str, Any]:
        """An item for a DynamoDB transaction, which fails once the activity is over."""
        return rows.there(self._table, self._side, held)

    def _new(self, action: Action, reason: str, phase: str, lease_seconds: float) -> Activity:
        return Activity(
            id=uuid4().hex[:12],
            action=action,
            reason=reason,
            phase=phase,
            owner=self._owner,
            fence=0,
            since_ms=self._clock(),
            lease_seconds=lease_seconds,
        )

    def _begun_or_refused(
        self, wanted: Activity, health: Stability, *, forced: bool
    ) -> Activity | Waits | None:
        found = self.look()
        reasons = self._reasons(wanted.action, found, health, forced=forced)
        if not forced:
            reasons = reasons or self._yields(wanted.action, found, health)
        return Waits(reasons) if reasons else self._begun(wanted, None, None, found)

    def _decided(
        self, wanted: Activity, held: Activity | None, health: Stability, *, forced: bool
    ) -> Activity | Waits | None:
        """The activity if it may begin now, else the reasons to wait; None if another process was faster."""
        found = self.look()
        if held is not None and held not in found.activities:
            raise LostError(f"{held} was given up: it was silent for {held.lease_seconds:.0f} s")
        own = self._own_wish(found, wanted.action)
        reasons = self._reasons(wanted.action, found, health, forced=forced)
        if held is None and not forced:  # one that yielded in its midst would wait for those who wait for it
            reasons = reasons or self._yields(wanted.action, found, health, own)
        if reasons:
            return Waits(reasons) if self._wish(wanted, own, found.serial) else None
        return self._begun(wanted, held, own, found)

    def _reasons(
        self, action: Action, found: Register, health: Stability, *, forced: bool = False
    ) -> Sequence[str]:
        """Reasons why an action has to wait for others' activities, or for the side's health."""
        others = [each for each in found.activities if each.owner != self._owner]
        return reasons_to_wait(action, others, health, forced=forced)

    def _yields(
        self, action: Action, found: Register, health: Stability, own: Activity | None = None
    ) -> Sequence[str]:
        """Others' wishes that are older than one's own, and that an action would hold up."""
        older = [each for each in found.wishes if each.owner != self._owner and _before(each, own)]
        return yields_to(action, older, health)

    def _begun(
        self, wanted: Activity, held: Activity | None, own: Activity | None, found: Register
    ) -> Activity | None:
        # One that goes on to another step has beaten, and its time is not that of what never beats.
        begun = replace(wanted, fence=found.serial + 1, beat=0 if held is None else held.beat + 1)
        place = (self._table, self._side)
        gone = [*found.over[:_MOST_OVER], *([(WISH, own)] if own else [])]
        items = [rows.counted(*place, found.serial), *(rows.removed(*place, *each) for each in gone)]
        if held is None:
            items.append(rows.added(*place, ACTIVITY, begun))
        else:
            items.append(rows.changed(*place, ACTIVITY, begun, held))
        return begun if self._write(items) else None

    def _wish(self, wanted: Activity, own: Activity | None, serial: int) -> bool:
        """Whether the wish is written; its place in the queue is that of the first time."""
        place = (self._table, self._side)
        if own is not None:
            return self._write([rows.changed(*place, WISH, replace(own, beat=own.beat + 1), own)])
        name = f"{self._owner}-{wanted.action.name.lower()}-{serial + 1}"
        wish = replace(wanted, id=name, fence=serial + 1, beat=0, since_ms=self._clock())
        return self._write([rows.counted(*place, serial), rows.added(*place, WISH, wish)])

    def _own_wish(self, found: Register, action: Action) -> Activity | None:
        own = (each for each in found.wishes if each.owner == self._owner and each.action is action)
        return next(own, None)

    def _until_alone(self, attempt: Callable[[], Activity | Waits | None]) -> Activity | Waits:
        for turn in range(_TRIES):
            found = attempt()
            if found is not None:
                return found
            self._pause(self._uniform(0, min(_LONGEST_PAUSE_SECONDS, _PAUSE_SECONDS * 2**turn)))
        raise StoreError(f"table {self._table}: others came in between at each of {_TRIES} tries")

    def _write(self, items: list[dict[str, Any]]) -> bool:
        """Whether all of it was written; False if a condition does not hold."""
        for turn in range(_TRIES):
            try:
                self._client.transact_write_items(TransactItems=items)
            except (BotoCoreError, ClientError) as error:
                if CONDITION_FAILED in cancellations(error):
                    return False
                if not conflicts(error):
                    raise StoreError(f"table {self._table} cannot be written: {error}") from error
                self._pause(self._uniform(0, min(_LONGEST_PAUSE_SECONDS, _PAUSE_SECONDS * 2**turn)))
            else:
                return True
        raise StoreError(f"table {self._table}: other writes came in between at each of {_TRIES} tries")


def _before(each: Activity, own: Activity | None) -> bool:
    """Whether a wish is from before one's own."""
    return own is None or each.fence < own.fence
