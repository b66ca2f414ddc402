"""Two sides that exist in memory or in a file: a backend of the deployer, with versions bad in every way.

Traffic flows by the clock it is given. Each side remembers which version processed which records, so that a
test can say of every record whether it ended well.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from pipelines.control.deploy.backend import (
    NONE_PINNED,
    BackendError,
    CannotReplayError,
    Deployed,
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
from tests.harness.fake_meter import ONE_IN, FakeMeter
from tests.harness.fake_world import DARK, LIGHT, Bad
from tests.harness.flowing_world import READY_MS, FlowingWorld, flows, works

_TOPIC: Final = "collected/0"

TENANTS: Final = ("acme", "globex")
"""Those that have write keys; each sends a hundredth of the events."""


class FakePlace(FlowingWorld):
    """A backend."""

    def __init__(self, clock: Callable[[], int], path: Path | None = None) -> None:
        super().__init__(clock, path)
        self.meter = FakeMeter()
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
            if not works(world, found):
                return Proof()
            found.proof = min(found.proof + max(1, events // 3), events)
            if found.version == Bad.GARBAGE:
                text = ["event 7: `1.10` arrived as `1.1`"]
                return Proof(sent=found.proof, changed=found.proof, examples=text)
            dropped = found.proof // ONE_IN if found.version == Bad.DROPS else 0
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
            return self.meter.minutes(world, side, first, last)

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
