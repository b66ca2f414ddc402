"""Does to the sides what the steps of a release back need, and looks how far they are.

Everything here may be repeated at any time.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from pipelines.control.deploy import rewinding
from pipelines.control.deploy.backend import BackendError, SideMinute
from pipelines.control.deploy.deciding.moved_traffic import share_of
from pipelines.control.deploy.deciding.seen import Seen
from pipelines.control.deploy.deciding.transitions import catches_up
from pipelines.control.deploy.held_sides import HeldSides
from pipelines.control.deploy.judging.traffic_minutes import first_minute, last_minute
from shared.contracts.releases import Release

_FOLLOWING_MINUTES: Final = 5
"""A minute is known to have had no events if a later one is settled, which has the canary's at least."""


def wake(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """Start the good version on the side that traffic goes back to, unless it runs."""
    side = release.former
    found, ready = sides.backend.deployed(side), sides.readiness(side)
    seen = replace(seen, deployed={side: found}, readiness=ready)
    if found.parked or release.woken or not ready.ready:
        seen = sides.begun(release, seen, side, release.former_version)
    return seen


def give_back(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """Set the weights of before; if the release gave the target none, look whether it has some first."""
    if not (release.opened or release.by_hand):
        seen = replace(seen, weights=sides.backend.weights())
        if share_of(seen.weights, release.target):
            return seen  # which is written down first
    return sides.traffic(release, seen)


def settle(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """A version may have broken its meter, or all of it: the step waits a while, and then goes on."""
    seen = still_runs(sides, release, seen)
    with suppress(BackendError):
        seen = replace(seen, minutes=_carried(sides, release, release.target))
    with suppress(BackendError):
        seen = replace(seen, former_minutes=_carried(sides, release, release.former))
    return seen


def still_runs(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """Whether the version that is put right runs, if that can be known: a bad one may not answer."""
    with suppress(BackendError):
        seen = replace(seen, readiness=sides.backend.readiness(release.faulty))
    return seen


def _carried(sides: HeldSides, release: Release, side: str) -> Sequence[SideMinute]:
    last = last_minute(release, sides.policy) + _FOLLOWING_MINUTES
    return sides.backend.minutes(side, first_minute(release), last)


def stop(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """Stop the bad version as it is, and look where it stands."""
    seen = sides.parked(release, seen, release.faulty)
    try:
        return replace(seen, positions=sides.backend.positions(release.faulty))
    except BackendError:
        return seen  # a checkpoint that the bad version broke: the step waits a while, and then goes on


def rewind(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """Set the side to where the good version goes on, once it is written down where it was stopped."""
    if release.left_at is None and release.snapshot is not None:
        # Written down first: a checkpoint that was made anew does not say that it could not be read.
        return replace(seen, positions=sides.backend.readable_positions(release.faulty))
    return replace(seen, restored=rewinding.rewind(lambda: sides.changing(release), release))


def restart(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """Start the good version in the bad one's place."""
    return sides.started(release, seen, release.faulty, release.good_version)


def catch_up(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """Keep the good version running, and look what it has still to do."""
    seen = sides.begun(release, seen, release.faulty, release.good_version)
    if seen.readiness is None or not seen.readiness.ready:
        return seen
    return sides.drained(release, seen, release.faulty)


def lay_down(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """Stop the side that was put right: once it is empty, or as it is if it was not to catch up."""
    side = release.faulty
    if release.unfinished or not catches_up(release):
        return sides.parked(release, seen, side)
    return sides.parked_empty(release, seen, side, release.good_version)
