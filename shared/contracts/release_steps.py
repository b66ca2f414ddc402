"""Kinds of releases, and the steps of each, forward and back. Pure."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """The aim of a release."""

    DEPLOY = "deploy"
    """A version takes all traffic, step by step."""

    SWITCH = "switch"
    """The version that serves takes all traffic on the other side."""

    BURST = "burst"
    """Both sides take half, until it is ended."""

    BURST_OFF = "burst off"
    """The side that served before the burst takes all of it."""

    ROLLBACK = "rollback"
    """The side and the version from before the last release take all traffic."""


class Step(StrEnum):
    """The step that a release is at, or how it ended."""

    PREFLIGHT = "preflight"
    SNAPSHOT = "snapshot"
    START = "deploy dark"
    READY = "ready"
    PROVE = "prove"
    LOAD_TEST = "load test"
    CANARY = "canary"
    WATCH = "watch"
    HALF = "half"
    WATCH_HALF = "watch half"
    WARM = "warm up"
    WARM_HALF = "warm up half"
    BOTH = "open both"
    ALL = "all"
    BAKE = "bake"
    DRAIN = "drain"
    PARK = "park"

    WAKE = "wake the former side"
    GIVE_BACK = "weights back"
    SETTLE = "settle"
    LINGER = "linger"
    STOP = "stop"
    REWIND = "set positions"
    RESTART = "start good version"
    CATCH_UP = "catch up"
    LAY_DOWN = "park again"

    DONE = "done"
    UNDONE = "undone"


ENDS: Final = frozenset({Step.DONE, Step.UNDONE})

BACKWARD: Final = (
    Step.WAKE,
    Step.GIVE_BACK,
    Step.SETTLE,
    Step.LINGER,
    Step.STOP,
    Step.REWIND,
    Step.RESTART,
    Step.CATCH_UP,
    Step.LAY_DOWN,
)
"""How a release is undone, and how a side with a bad version is put right."""

_DARK: Final = (Step.PREFLIGHT, Step.SNAPSHOT, Step.START, Step.READY, Step.PROVE)
_REPAIR: Final = (Step.LINGER, Step.STOP, Step.REWIND, Step.RESTART, Step.CATCH_UP, Step.LAY_DOWN)

PLANS: Final[Mapping[Kind, tuple[Step, ...]]] = {
    Kind.DEPLOY: (
        *_DARK,
        Step.LOAD_TEST,
        Step.CANARY,
        Step.WATCH,
        Step.HALF,
        Step.WATCH_HALF,
        Step.ALL,
        Step.BAKE,
        Step.DRAIN,
        Step.PARK,
    ),
    Kind.SWITCH: (
        *_DARK,
        Step.CANARY,
        Step.WARM,
        Step.HALF,
        Step.WARM_HALF,
        Step.ALL,
        Step.BAKE,
        Step.DRAIN,
        Step.PARK,
    ),
    Kind.BURST: (*_DARK, Step.BOTH),
    Kind.BURST_OFF: (Step.PREFLIGHT, Step.ALL, Step.DRAIN, Step.PARK),
    Kind.ROLLBACK: (Step.PREFLIGHT, Step.START, Step.READY, Step.ALL, *_REPAIR),
}
"""The steps of each kind, if nothing goes wrong."""


RESTS_AFTER: Final = (Step.BOTH, Step.ALL, Step.BAKE)
"""After the last of these steps in a plan the traffic rests."""
