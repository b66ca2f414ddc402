"""Does to the sides what the steps of a release forward need, and looks how far they are.

Everything here may be repeated at any time.
"""

from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from pipelines.control.deploy.backend import BackendError
from pipelines.control.deploy.deciding.moved_traffic import share_of
from pipelines.control.deploy.deciding.seen import Seen
from pipelines.control.deploy.held_sides import HeldSides
from pipelines.control.deploy.judging import sufficiency
from shared.contracts.release_steps import Kind
from shared.contracts.releases import Release

_TO_FORMER: Final = (Kind.BURST_OFF, Kind.ROLLBACK)
"""They bring a version that has served before: the way back is to be short."""


def preflight(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """Look at what the release begins with, and at what would be in its way."""
    # Only to find the target: a rollback must not depend on a bad side that may not answer.
    asked = () if release.target else sides.backend.sides()
    deployed = {side: sides.backend.deployed(side) for side in asked}
    tenants = release.canary_tenants
    unroutable = sides.backend.unroutable(tenants) if tenants else ""
    found = replace(seen, deployed=deployed, unroutable=unroutable)
    if release.target:
        found = _with_obstacles(sides, release, found)
    return replace(found, weights=sides.backend.weights())


def _with_obstacles(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    if release.kind in _TO_FORMER:
        with suppress(BackendError):  # the way back does not wait for what cannot be asked
            seen = replace(seen, closed=sides.backend.closed(release.target))
        return seen
    obstacles = sides.backend.obstacles(release.target, release.version)
    if obstacles is not None and not obstacles:
        seen = replace(seen, no_way_back=_no_way_back(sides, release))
    return replace(seen, obstacles=obstacles)


def _no_way_back(sides: HeldSides, release: Release) -> str:
    """The version that serves is started again on the target, and on its own side if that is parked."""
    found = (
        sides.backend.unstartable(side, release.former_version) for side in (release.target, release.former)
    )
    return next(filter(None, found), "")


def snapshot(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """Look where the target stands, and what is left of it."""
    side = release.target
    return replace(seen, positions=sides.backend.positions(side), remains=sides.backend.remains(side))


def start(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """Start the version on the target, unless that has traffic."""
    seen = replace(seen, weights=sides.backend.weights())
    if share_of(seen.weights, release.target):
        return seen
    return sides.started(release, seen, release.target, release.version)


def ready(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """Look whether the target is ready; what failed is started again."""
    return sides.begun(release, seen, release.target, release.version)


def prove(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """Send events for proof through the target."""
    seen = sides.with_target(release, seen)
    if seen.deployed[release.target].parked:
        return seen
    events, fence = sides.policy.proof_events, release.term
    return replace(seen, proof=sides.changing(release).prove(release.target, events, fence=fence))


def load_test(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """Begin a load test of the target if its rating is old, and look at both sides' ratings."""
    days = sides.policy.rating_days
    if not days:
        return seen
    seen = sides.with_target(release, seen)
    if seen.deployed[release.target].parked:
        return seen
    rating = sides.backend.rating(release.target)
    if sufficiency.old(rating, release.version, days, release.since_ms):
        sides.changing(release).begin_load_test(release.target, fence=release.term)
    return replace(seen, rating=rating, former_rating=sides.backend.rating(release.former))


def first_traffic(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """Give the target a share once it is ready, if it has none: it may have been ready some time ago."""
    if not share_of(sides.backend.weights(), release.target):
        # The place may have been started again, with what has traffic only.
        seen = sides.begun(release, seen, release.target, release.version)
        if seen.readiness is None or not seen.readiness.ready:
            return seen
    return sides.traffic(release, seen)


def drain(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """Keep the side that is left running, and look what it has still to do."""
    side = release.former
    # The place may have been started again, with what has traffic only.
    seen = sides.begun(release, seen, side, release.former_version)
    if seen.readiness is not None and seen.readiness.ready:
        seen = sides.drained(release, seen, side)
    else:
        with suppress(BackendError):  # a broken side may not say what it has; it is given up all the same
            seen = sides.drained(release, seen, side)
    return seen if seen.dead_letters is None else sides.with_silence(seen, side)


def park(sides: HeldSides, release: Release, seen: Seen) -> Seen:
    """Stop the side that is left: once it is empty, or as it is if the release is unfinished."""
    if release.unfinished:
        return sides.parked(release, seen, release.former)
    return sides.parked_empty(release, seen, release.former, release.former_version)
