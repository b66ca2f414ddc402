"""The state of two sides that do not exist, and what became of the records that they took."""

import json
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, field

from pipelines.control.deploy.backend import Rating

LIGHT: Final = "blue"
DARK: Final = "green"
OLD: Final = "1.0"
NEW: Final = "2.0"


class Bad(StrEnum):
    """Names of versions that are bad, and how."""

    CRASHES = "crashes"
    SLOWER = "slower"
    SLOWER_AND_DROPS = "slower and drops"
    """Its losses are known minutes after it is found to be slower."""

    SLOWER_AND_HANGS = "slower and hangs"
    """The outcome of some of its events is never known."""

    SLOWER_AND_STOPS = "slower and stops"
    """Its programs end once it has no traffic, and are not ready again."""

    DROPS = "drops"
    DROPS_AT_FIRST = "drops at first"
    """It loses events in the minute in which it gets its first ones, and none afterwards."""

    DOUBLES = "doubles"
    GARBAGE = "garbage"
    RARE_GARBAGE = "rare garbage"
    REFUSES = "refuses"
    LEAKS = "leaks"
    HIGHER_P95 = "higher p95"
    """Its p95 is three and a half times as high, and no event is late."""

    COSTLIER = "costlier"
    """An event costs two and a half times the CPU."""

    UNREADABLE = "unreadable checkpoint"
    NEVER_READY = "never ready"


SPOILS: Final = frozenset(
    {Bad.DROPS, Bad.DROPS_AT_FIRST, Bad.SLOWER_AND_DROPS, Bad.GARBAGE, Bad.RARE_GARBAGE, Bad.REFUSES}
)
"""Versions that spoil events: those that they processed have to be processed again."""


class FakeSide(Struct, kw_only=True):
    """One side."""

    version: str = ""
    parked: bool = True
    stopping: bool = False
    """Whether it is being parked: its first programs are stopped, and it is not parked yet."""

    since_ms: int = 0
    end: float = 0
    """Records that it took."""

    position: float = 0
    marked: float = 0
    """Records before this one are marked as replayed."""

    processed: list[tuple[float, float, str, bool]] = []
    """Ranges of records: from, to, the version that processed them, whether marked as replayed."""

    proof: int = 0
    overdue: int = 0
    """Events for proof, beside those, that it acknowledged long ago and that have not arrived."""

    rated: Rating | None = None
    spoilt: bool = False
    """Whether its checkpoint cannot be read."""

    lost: bool = False
    """Whether it has none any more: it would go on with the first records that there are."""

    retries: int = 0
    stable: bool = True
    unstable_minute: int = 0
    """When what it is not stable for happened, epoch minute."""

    patched: bool = False
    shut: bool = False
    unlucky: bool = False
    """Whether its next start fails for a reason that passes."""

    failed: bool = False
    """Whether its last start failed."""


class World(Struct, kw_only=True):
    """All of it."""

    sides: dict[str, FakeSide]
    shares: dict[str, int]
    since: list[tuple[int, dict[str, int]]] = field(default_factory=list)
    """Since when which weights, epoch milliseconds."""

    cached_ms: int = 0
    """How long clients keep the old weights after a change, as they cache names."""

    pinned: dict[str, str] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    """Versions of which the files are not there any more."""

    fence: int = 0
    now_ms: int = 0
    refused: float = 0
    """Events that came to a side that was parked, or was being parked."""


def new_world() -> World:
    """Blue serves OLD; green is parked with it."""
    sides = {LIGHT: FakeSide(version=OLD, parked=False), DARK: FakeSide(version=OLD)}
    return World(sides=sides, shares={LIGHT: 100, DARK: 0})


def sent_to(world: World, at_ms: int) -> dict[str, int]:
    """Percentage of all events that clients send to each side at a moment."""
    return shares_at(world, at_ms - world.cached_ms)


def shares_at(world: World, at_ms: int) -> dict[str, int]:
    """Percentage of all events that the weights of a moment give to each side."""
    known = {LIGHT: 100, DARK: 0}
    for since_ms, shares in world.since:
        if since_ms <= at_ms:
            known = shares
    return known


def read_world(path: Path) -> World:
    """The world in a file; a new one before it is written."""
    return msgspec.json.decode(path.read_bytes(), type=World) if path.exists() else new_world()


def badly_ended(world: World) -> list[str]:
    """Records last processed by a version that spoils them, or processed by none."""
    found = []
    for name, side in world.sides.items():
        known: dict[tuple[float, float], str] = {}
        points = sorted({point for first, last, *_ in side.processed for point in (first, last)})
        for first, last in pairwise(points):
            for begin, end, version, _ in side.processed:
                if begin <= first and last <= end:
                    known[first, last] = version
        spoilt = {span: version for span, version in known.items() if version in SPOILS}
        found += [
            f"{name}: records {span} were last processed by {version}" for span, version in spoilt.items()
        ]
        if side.end - side.position >= 1:
            found.append(f"{name}: {side.end - side.position:.0f} records are not processed")
    return found


def doubled(world: World) -> list[str]:
    """Records that were processed twice, the second time without the mark of a replay."""
    found = []
    for name, side in world.sides.items():
        reached = 0.0
        for first, last, version, marked in side.processed:
            if first < reached - 1 and not marked:
                found.append(f"{name}: records from {first} to {reached} again by {version}")
            reached = max(reached, last)
    return found


def described(world: World) -> str:
    """For messages of tests."""
    return json.dumps(msgspec.to_builtins(world), indent=1)
