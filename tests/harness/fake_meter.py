"""The meter of sides that do not exist: their minutes, by the versions and the traffic that they have."""

from collections.abc import Hashable, Sequence
from typing import Final

from pipelines.control.deploy.backend import SideMinute
from shared.contracts.envelope import MINUTE_MS
from tests.harness.fake_world import Bad, World, sent_to, shares_at
from tests.harness.flowing_world import RATE

ONE_IN: Final = 200
"""Every so manyth event has the fault of a version."""

_FEW: Final = 3
"""Events that DROPS_AT_FIRST loses."""

_PROVEN_MINUTES: Final = 2
"""After which it is known what SLOWER_AND_DROPS lost."""

_CANARY: Final = 1
"""Events of a side's canary in a minute without customers' events."""

_CPU_A_MINUTE: Final = 51.0
_CPU_AN_EVENT: Final = 0.00011
"""CPU seconds of a chain of one partition, brokers left out, three events a request (docs/capacity.md)."""

_WARMING_MINUTES: Final = 2
"""So long after the minute of its start a version still compiles: p95 and CPU are higher."""

_WARMING: Final = 3.5
_MUCH_MORE: Final = {Bad.HIGHER_P95: 3.5, Bad.COSTLIER: 2.5}
"""Times what a good version has."""

_LATE: Final = 1 / 500
"""Share of a good version's events that are late."""


class FakeMeter:
    """Says how each side did in its minutes."""

    def __init__(self) -> None:
        self.late_when_cold: tuple[float, ...] = ()
        """Share of a side's events that are late in each of its first whole minutes with traffic."""

        self.settle_ms = 0
        """So long after its end a minute is settled."""

        self._known: dict[str, tuple[Hashable, Sequence[SideMinute]]] = {}

    def minutes(self, world: World, side: str, first: int, last: int) -> Sequence[SideMinute]:
        """A deployer asks for them each second; what there is to see of them changes each minute."""
        now, settled = world.now_ms // MINUTE_MS, (world.now_ms - self.settle_ms) // MINUTE_MS
        found, changes = world.sides[side], len(world.since)
        key = (first, last, now, settled, found.version, found.since_ms, changes, self.late_when_cold)
        known = self._known.get(side)
        if known is None or known[0] != key:
            made = [self._minute(world, side, minute) for minute in range(first, min(last, now) + 1)]
            known = key, [each for each in made if each.total or not each.settled]
            self._known[side] = known
        return known[1]

    def _late_share(self, world: World, side: str, minute: int) -> float:
        """Of a side's events in a minute, by how many minutes before it the side had no traffic."""
        shares = [
            shares_at(world, (minute - n) * MINUTE_MS)[side] for n in range(len(self.late_when_cold) + 1)
        ]
        if not shares[0]:
            return _LATE
        first = (late for late, before in zip(self.late_when_cold, shares[1:], strict=True) if not before)
        return next(first, _LATE)

    @staticmethod
    def _reached(world: World, side: str, begin: int) -> bool:
        """Whether clients sent a side events at any moment of a minute."""
        changes = [at_ms + world.cached_ms for at_ms, _ in world.since]
        moments = [begin, *(at_ms for at_ms in changes if begin <= at_ms < begin + MINUTE_MS)]
        return any(sent_to(world, at_ms)[side] for at_ms in moments)

    def _minute(self, world: World, side: str, minute: int) -> SideMinute:
        begin = minute * MINUTE_MS
        share = shares_at(world, begin)[side]
        total = RATE * 60 * share // 100 or _CANARY
        version, age = world.sides[side].version, minute - world.sides[side].since_ms // MINUTE_MS
        some = total // ONE_IN
        warming = _WARMING if age <= _WARMING_MINUTES else 1.0
        dropped = max(some, int(self._reached(world, side, begin))) if version == Bad.DROPS else 0
        late = int(total * self._late_share(world, side, minute))
        more = {bad: warming * (times if version == bad else 1.0) for bad, times in _MUCH_MORE.items()}
        slow = version.startswith(Bad.SLOWER)
        hidden = some if version == Bad.SLOWER_AND_DROPS else 0
        proven = world.now_ms // MINUTE_MS > minute + _PROVEN_MINUTES
        begun_ms = next((at_ms for at_ms, shares in world.since if shares[side]), 0)
        at_first = _FEW if version == Bad.DROPS_AT_FIRST and begun_ms // MINUTE_MS == minute else 0
        return SideMinute(
            minute=minute,
            settled=begin + MINUTE_MS + self.settle_ms <= world.now_ms,
            total=total,
            good=0 if slow else total - late - dropped,
            lost=at_first or dropped or hidden * proven,
            under_way=some if version == Bad.SLOWER_AND_HANGS else hidden * (not proven),
            doubled=some if version == Bad.DOUBLES else 0,
            changed=1 if version == Bad.RARE_GARBAGE and total else 0,
            p95_ms=3_200.0 if slow else (180.0 + minute % 7) * more[Bad.HIGHER_P95],
            dead={"unreadable": some} if version == Bad.REFUSES else {},
            cpu_seconds=(_CPU_A_MINUTE + total * _CPU_AN_EVENT) * more[Bad.COSTLIER],
            memory_bytes=(500 + (60 * age if version == Bad.LEAKS else 0)) * 1024 * 1024,
        )
