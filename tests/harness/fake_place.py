"""Two sides that exist in memory or in a file: a backend of the deployer, with versions bad in every way.

Traffic flows by the clock it is given. Each side remembers which version processed which records, so that a
test can say of every record whether it ended well.
"""

import fcntl
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from pipelines.control.deploy.backend import (
    NONE_PINNED,
    BackendError,
    CannotReplayError,
    Deployed,
    FencedError,
    Obstacle,
    Pinned,
    Proof,
    Rating,
    Readiness,
    Remains,
    SideMinute,
    Weights,
)
from shared.contracts.diamond.stability import SILENT, Stability
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.releases import Positions
from shared.contracts.topology import CHAIN_GROUPS
from tests.harness.fake_world import (
    DARK,
    LIGHT,
    Bad,
    FakeSide,
    World,
    new_world,
    read_world,
    sent_to,
    shares_at,
)

RATE: Final = 300
"""Events a second, of both sides together."""

READY_MS: Final = 5_000
"""From start to ready."""

_ONE_IN: Final = 200
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

_TOPIC: Final = "collected/0"


TENANTS: Final = ("acme", "globex")
"""Those that have write keys; each sends a hundredth of the events."""


def flows(world: World) -> dict[str, int]:
    """The share of each side of all events, percent: of the pinned and of the others."""
    own = {side: sum(side == each for each in world.pinned.values()) for side in world.shares}
    rest = 100 - sum(own.values())
    return {side: own[side] + rest * share // 100 for side, share in world.shares.items()}


class FakePlace:
    """A backend. In a file, any number of processes share it."""

    def __init__(self, clock: Callable[[], int], path: Path | None = None) -> None:
        self._clock, self._path = clock, path
        self.world = new_world()
        self.before_call: Callable[[str], None] = lambda _: None
        """Called before each change, with the method's name; may raise."""

        self.after_call: Callable[[str], None] = lambda _: None
        self.replays = True
        self.letter_looks = 0
        """How often dead letters were asked for."""

        self.counting_looks = 0
        """After so many looks they are counted."""

        self.obstacle_looks = 0
        """How often it was asked what keeps a version from a side."""

        self.patch_looks = 0
        """How often it was asked what passes."""

        self.silent_brokers: set[str] = set()
        """Sides of which it is not known whether they are being patched."""

        self.silent_meters: set[str] = set()
        """Sides with an observe that does not answer."""

        self.late_when_cold: tuple[float, ...] = ()
        """Share of a side's events that are late in each of its first whole minutes with traffic."""

        self.settle_ms = 0
        """So long after its end a minute is settled."""

        self._known_minutes: dict[str, tuple[Hashable, Sequence[SideMinute]]] = {}

        self.unreachable: set[str] = set()
        """Sides that do not say what code they have."""

        self.refusing: set[str] = set()
        """Sides with a collect that takes no events."""

        self.without_observe: set[str] = set()
        """Sides with an observe that does not come up."""

        self.unjudged: set[str] = set()
        """Sides with an observe that runs, and has judged nothing for a minute."""

        self.mute: set[str] = set()
        """Sides that do not say what they have still to settle."""

    def sides(self) -> tuple[str, str]:
        return LIGHT, DARK

    def deployed(self, side: str) -> Deployed:
        if side in self.unreachable:
            raise BackendError(f"{side} does not answer")
        with self._world() as world:
            found = world.sides[side]
            return Deployed(version=found.version, parked=found.parked)

    def obstacles(self, side: str, version: str) -> Sequence[Obstacle] | None:
        self.obstacle_looks += 1
        if why := self.closed(side):
            return [Obstacle(text=why, lasting=False)]
        if version == "missing":
            return [Obstacle(text=f"version {version} does not exist", lasting=True)]
        if version == Bad.UNREADABLE:
            return [Obstacle(text=f"version {version} cannot read the checkpoint of ingest", lasting=True)]
        found = self.passing(side)
        if not found:
            for each in self.sides():  # a version is asked what it reads of the records of both
                self.deployed(each)
        return found

    def closed(self, side: str) -> str:
        with self._world() as world:
            return f"{side} is closed to traffic" if world.sides[side].shut else ""

    def passing(self, side: str) -> Sequence[Obstacle]:
        self.patch_looks += 1
        if side in self.silent_brokers:
            raise BackendError(f"no broker of {side} answers")
        with self._world() as world:
            text = f"a broker of {side} is being patched"
            return [Obstacle(text=text, lasting=False)] if world.sides[side].patched else []

    def unstartable(self, side: str, version: str) -> str:
        with self._world() as world:
            return f"there is no version {version} any more" if version in ("missing", *world.gone) else ""

    def start(self, side: str, version: str, *, fence: int) -> None:
        with self._changed("start", fence, side) as world:
            found = world.sides[side]
            if version in world.gone and (found.parked or found.version != version):
                raise BackendError(f"there is no version {version} any more")
            if found.parked or found.stopping or found.failed or found.version != version:
                found.stopping = False
                found.version, found.parked, found.since_ms, found.proof = version, False, world.now_ms, 0
                found.failed, found.unlucky = found.unlucky, False

    def readiness(self, side: str) -> Readiness:
        with self._world() as world:
            found = world.sides[side]
            age = world.now_ms - found.since_ms
            if found.version == Bad.CRASHES:
                return Readiness(ready=False, waiting_for=["ingest ended by itself"], crashes=age // 3_000)
            if found.version == Bad.SLOWER_AND_STOPS and world.since and not world.shares[side]:
                return Readiness(ready=False, waiting_for=["transmit"])
            started = not (found.parked or found.stopping or found.failed)
            if found.version == Bad.NEVER_READY or not started or age < READY_MS:
                return Readiness(ready=False, waiting_for=["route"])
            if side in self.refusing:
                return Readiness(ready=False, waiting_for=["collect"])
            if side in self.without_observe:
                return Readiness(ready=False, waiting_for=["observe"])
            return Readiness(ready=True)

    def park(self, side: str, *, fence: int) -> None:
        with self._changed("park", fence, side) as world:
            found = world.sides[side]
            assert not flows(world)[side], "a side with traffic is stopped"
            # The first call begins it, as in AWS: between the two the side takes nothing, and is not parked.
            found.parked = found.parked or found.stopping
            found.stopping = not found.parked

    def positions(self, side: str) -> Positions:
        with self._world() as world:
            found = world.sides[side]
            if found.spoilt:
                raise BackendError("the checkpoint of ingest cannot be read")
            position = 0 if found.lost else int(found.position)
            return Positions(queries={"ingest": {_TOPIC: position}}, groups={"retry": {"retry_in/0": 0}})

    def readable_positions(self, side: str) -> Positions:
        try:
            return self.positions(side)
        except BackendError:
            return Positions(groups={"retry": {"retry_in/0": 0}})

    def restore(self, side: str, positions: Positions, *, replayed: Positions | None, fence: int) -> None:
        if replayed is not None and not self.replays:
            raise CannotReplayError("this place marks nothing")
        with self._changed("restore", fence, side) as world:
            found = world.sides[side]
            assert found.parked, "positions are changed under running code"
            found.position, found.spoilt, found.lost = positions.queries["ingest"][_TOPIC], False, False
            unfinished = found.marked if found.position < found.marked else 0
            found.marked = found.end if replayed else unfinished

    def prove(self, side: str, events: int, *, fence: int) -> Proof:
        with self._changed("prove", fence, side) as world:
            found = world.sides[side]
            if not self._works(world, found):
                return Proof()
            found.proof = min(found.proof + max(1, events // 3), events)
            if found.version == Bad.GARBAGE:
                text = ["event 7: `1.10` arrived as `1.1`"]
                return Proof(sent=found.proof, changed=found.proof, examples=text)
            dropped = found.proof // _ONE_IN if found.version == Bad.DROPS else 0
            sent = found.proof + found.overdue
            return Proof(sent=sent, arrived=found.proof - dropped, missing=found.overdue)

    def rating(self, side: str) -> Rating | None:
        with self._world() as world:
            return world.sides[side].rated

    def begin_load_test(self, side: str, *, fence: int) -> None:
        with self._changed("begin_load_test", fence, side) as world:
            found = world.sides[side]
            found.rated = Rating(
                version=found.version, events_per_second=10_000, p95_ms=500, at_ms=world.now_ms
            )

    def weights(self) -> Weights:
        with self._world() as world:
            return dict(world.shares)

    def pinned(self) -> Pinned:
        with self._world() as world:
            return dict(world.pinned)

    def unroutable(self, tenants: Sequence[str]) -> str:
        strange = [each for each in tenants if each not in TENANTS]
        return f"no tenant {', '.join(strange)} has a write key" if strange else ""

    def set_weights(self, weights: Weights, *, pinned: Pinned = NONE_PINNED, fence: int) -> None:
        with self._changed("set_weights", fence, *weights) as world:
            for side in weights:
                takes = side not in self.refusing and not world.sides[side].parked
                if weights[side] > world.shares[side] and not takes:
                    raise BackendError(f"{side} takes no events")
            world.shares, world.pinned = dict(weights), dict(pinned)
            world.since.append((world.now_ms, flows(world)))

    def minutes(self, side: str, first: int, last: int) -> Sequence[SideMinute]:
        with self._world() as world:
            if side in self.silent_meters:
                raise BackendError(f"observe of {side} does not answer")
            return self._minutes(world, side, first, last)

    def pause_canary(self, side: str, *, fence: int) -> None:
        with self._changed("pause_canary", fence, side):
            """Its sides have none."""

    def remains(self, side: str) -> Remains:
        if side in self.mute:
            raise BackendError(f"no broker of {side} answers")
        with self._world() as world:
            found = world.sides[side]
            unread = {"ingest": int(found.end - found.position), "retry": found.retries}
            lag = dict.fromkeys(CHAIN_GROUPS, 0) | unread
            return Remains(lag=lag, retries=found.retries)

    def dead_letters(self, side: str) -> Mapping[str, int] | None:
        assert side in self.sides()
        self.letter_looks += 1
        return {"410 gone": 2} if self.letter_looks > self.counting_looks else None

    def stability(self, side: str, since: int = 0) -> Stability:
        with self._world() as world:
            found = world.sides[side]
            if found.parked or found.stopping or side in self.without_observe | self.unjudged:
                return SILENT
            stable = found.stable or found.unstable_minute < since
            return Stability(stable=stable, reasons=() if stable else ("alarm burn: late",))

    def set_traffic_by_hand(self, shares: Mapping[str, int]) -> None:
        """Set the shares as an operator does behind the deployer's back."""
        with self._world() as world:
            world.shares = dict(shares)
            world.since.append((world.now_ms, flows(world)))

    def fail_stably(self, side: str, *, stable: bool) -> None:
        """Let a side be stable or not, for what happens now."""
        with self._world() as world:
            world.sides[side].stable = stable
            world.sides[side].unstable_minute = world.now_ms // MINUTE_MS

    @contextmanager
    def _changed(self, name: str, fence: int, *sides: str) -> Iterator[World]:
        """`sides` are those that the call changes: a place that is derived from this one may watch them."""
        self.before_call(name)
        with self._world() as world:
            if fence < world.fence:
                raise FencedError(f"{name} with fence {fence}, after {world.fence}")
            world.fence = fence
            yield world
        self.after_call(name)

    @contextmanager
    def _world(self) -> Iterator[World]:
        if self._path is None:
            self._flow(self.world)
            yield self.world
            return
        with self._path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            world = read_world(self._path)
            self._flow(world)
            yield world
            fresh = self._path.with_suffix(".new")
            fresh.write_bytes(msgspec.json.encode(world))
            fresh.replace(self._path)

    def _works(self, world: World, side: FakeSide) -> bool:
        broken = side.version in (Bad.CRASHES, Bad.NEVER_READY)
        return (
            not side.parked and not side.stopping and not broken and world.now_ms - side.since_ms >= READY_MS
        )

    def _flow(self, world: World) -> None:
        """Catch up with the events of the time since the last look."""
        now_ms = self._clock()
        shares = sent_to(world, world.now_ms)
        passed, world.now_ms = now_ms - (world.now_ms or now_ms), now_ms
        for name, side in world.sides.items():
            taken = RATE * passed / 1_000 * shares[name] / 100
            if taken and (side.parked or side.stopping):
                world.refused += taken
            side.end += taken
            if self._works(world, side) and side.position < side.end:
                self._processed(side)

    def _processed(self, side: FakeSide) -> None:
        middle = min(max(side.position, side.marked), side.end)
        for first, last, marked in ((side.position, middle, True), (middle, side.end, False)):
            if last <= first:
                continue
            before = side.processed[-1] if side.processed else (0.0, -1.0, "", False)
            if before[1:] == (first, side.version, marked):
                side.processed[-1] = (before[0], last, side.version, marked)
            else:
                side.processed.append((first, last, side.version, marked))
        side.position = side.end

    def _late_share(self, world: World, side: str, minute: int) -> float:
        """Of a side's events in a minute, by how many minutes before it the side had no traffic."""
        shares = [
            shares_at(world, (minute - n) * MINUTE_MS)[side] for n in range(len(self.late_when_cold) + 1)
        ]
        if not shares[0]:
            return _LATE
        first = (late for late, before in zip(self.late_when_cold, shares[1:], strict=True) if not before)
        return next(first, _LATE)

    def _minutes(self, world: World, side: str, first: int, last: int) -> Sequence[SideMinute]:
        """A deployer asks for them each second; what there is to see of them changes each minute."""
        now, settled = world.now_ms // MINUTE_MS, (world.now_ms - self.settle_ms) // MINUTE_MS
        found, changes = world.sides[side], len(world.since)
        key = (first, last, now, settled, found.version, found.since_ms, changes, self.late_when_cold)
        known = self._known_minutes.get(side)
        if known is None or known[0] != key:
            made = [self._minute(world, side, minute) for minute in range(first, min(last, now) + 1)]
            known = key, [each for each in made if each.total or not each.settled]
            self._known_minutes[side] = known
        return known[1]

    def _minute(self, world: World, side: str, minute: int) -> SideMinute:
        begin = minute * MINUTE_MS
        share = shares_at(world, begin)[side]
        total = RATE * 60 * share // 100 or _CANARY
        version, age = world.sides[side].version, minute - world.sides[side].since_ms // MINUTE_MS
        some = total // _ONE_IN
        warming = _WARMING if age <= _WARMING_MINUTES else 1.0
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
            good=0 if slow else total - late - (some if version == Bad.DROPS else 0),
            lost=at_first or (some if version == Bad.DROPS else hidden * proven),
            under_way=some if version == Bad.SLOWER_AND_HANGS else hidden * (not proven),
            doubled=some if version == Bad.DOUBLES else 0,
            changed=1 if version == Bad.RARE_GARBAGE and total else 0,
            p95_ms=3_200.0 if slow else (180.0 + minute % 7) * more[Bad.HIGHER_P95],
            dead={"unreadable": some} if version == Bad.REFUSES else {},
            cpu_seconds=(_CPU_A_MINUTE + total * _CPU_AN_EVENT) * more[Bad.COSTLIER],
            memory_bytes=(500 + (60 * age if version == Bad.LEAKS else 0)) * 1024 * 1024,
        )
