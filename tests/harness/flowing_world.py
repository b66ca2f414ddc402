"""A world of two sides in memory or in a file, in which events flow by the clock that it is given."""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from pipelines.control.deploy.backend import FencedError
from tests.harness.fake_world import Bad, FakeSide, World, new_world, read_world, sent_to

RATE: Final = 300
"""Events a second, of both sides together."""

READY_MS: Final = 5_000
"""From start to ready."""


def flows(world: World) -> dict[str, int]:
    """The share of each side of all events, percent: of the pinned and of the others."""
    own = {side: sum(side == each for each in world.pinned.values()) for side in world.shares}
    rest = 100 - sum(own.values())
    return {side: own[side] + rest * share // 100 for side, share in world.shares.items()}


def works(world: World, side: FakeSide) -> bool:
    """Whether a side processes events now."""
    broken = side.version in (Bad.CRASHES, Bad.NEVER_READY)
    return not side.parked and not side.stopping and not broken and world.now_ms - side.since_ms >= READY_MS


class FlowingWorld:
    """Looks and changes, each of which first catches up with the events of the time since the last one.

    In a file, any number of processes share it.
    """

    def __init__(self, clock: Callable[[], int], path: Path | None = None) -> None:
        self._clock, self._path = clock, path
        self.world = new_world()
        self.before_call: Callable[[str], None] = lambda _: None
        """Called before each change, with the method's name; may raise."""

        self.after_call: Callable[[str], None] = lambda _: None

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
            if works(world, side) and side.position < side.end:
                _processed(side)


def _processed(side: FakeSide) -> None:
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
