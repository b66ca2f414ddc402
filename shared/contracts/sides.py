"""Both sides and their releases: what `hifi sides --json` and the management API answer. Pure."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from shared.contracts.diamond.activities import Activity
from shared.contracts.diamond.stability import Stability
from shared.contracts.releases import Release, SideState

SILENT_MS: Final = 60_000
"""A deployer that has shown nothing for so long does not run."""


class DeployerStatus(StrEnum):
    """Whether the deployer runs, as far as is known."""

    RUNS = "runs"
    SILENT = "silent"
    """It ran once, and has shown nothing for a minute: what it last saw may be wrong by now."""

    NONE = "none"
    """None ever ran. A side then speaks for itself alone."""


class SideStatus(StrEnum):
    """A side in one word."""

    STABLE = "stable"
    UNSTABLE = "not stable"
    PARKED = "parked"
    UNKNOWN = "not known"
    """It could not be asked."""


class SideReport(Struct, frozen=True, kw_only=True):
    """One side; None is not known."""

    side: str
    at_ms: int
    """When it was seen so, epoch milliseconds."""

    version: str | None = None
    """The version that runs, or that ran last on a parked side; empty if none ever did."""

    parked: bool = False
    share: int | None = None
    """Of the traffic, percent."""

    stable: bool = False
    reasons: Sequence[str] = ()
    """Why it is not stable, a sentence each."""

    unread: int | None = None
    """Records that its chain has not read."""

    waiting: int | None = None
    """Events that wait for their next try."""

    rating: float | None = None
    """Events per second of its newest load test."""

    rating_p95_ms: float | None = None
    problem: str = ""
    """Why it could not be asked; whether it is stable is not known then."""

    activities: Sequence[Activity] = ()
    """Who acts on it, oldest first."""

    wishes: Sequence[Activity] = ()
    """Who waits to act."""


class Sides(Struct, frozen=True, kw_only=True):
    """The sides, the release under way and those that have ended."""

    at_ms: int
    """When it was asked, epoch milliseconds."""

    deployer: DeployerStatus
    sides: Sequence[SideReport]
    release: Release | None
    """The one that is under way, or that ended last; None if there never was one."""

    ended: Sequence[Release]
    """Those that have ended, newest first."""


def deployer_status(states: Sequence[SideState], now_ms: int) -> DeployerStatus:
    """Whether a deployer runs, by what it has shown of the sides."""
    if not states:
        return DeployerStatus.NONE
    newest = max(each.at_ms for each in states)
    return DeployerStatus.SILENT if now_ms - newest > SILENT_MS else DeployerStatus.RUNS


def state_of(report: SideReport) -> SideStatus:
    """The status of a side, in one word."""
    if report.problem:
        return SideStatus.UNKNOWN
    if report.parked:
        return SideStatus.PARKED
    return SideStatus.STABLE if report.stable else SideStatus.UNSTABLE


def seen_side(state: SideState) -> SideReport:
    """A side as the deployer last saw it, without who acts on it."""
    return SideReport(**asdict(state))


def lone_side(side: str, health: Stability, now_ms: int) -> SideReport:
    """A side without a deployer, by its own observe, without who acts on it."""
    if health.silent:
        return SideReport(side=side, at_ms=now_ms, problem="; ".join(health.reasons))
    return SideReport(
        side=side, at_ms=health.at_ms or now_ms, stable=health.stable, reasons=tuple(health.reasons)
    )


def shown_release(release: Release) -> Release:
    """A release without positions, which are for the deployer alone and long."""
    return replace(release, snapshot=None, left_at=None)
