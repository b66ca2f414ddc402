"""Does to the sides what a step of a release needs, and looks how far it is.

Everything here may be repeated at any time.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from pipelines.control.deploy import sufficiency
from pipelines.control.deploy.backend import (
    Backend,
    BackendError,
    CannotReplayError,
    Remains,
    SideMinute,
)
from pipelines.control.deploy.policy import JUDGED, WATCHED, Policy, percent, pinned
from pipelines.control.deploy.replays import replay_positions
from pipelines.control.deploy.seen import Seen
from pipelines.control.deploy.traffic_minutes import first_minute, first_whole_minute, last_minute
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.releases import Positions, Release, Step

_FOLLOWING_MINUTES: Final = 5
"""A minute is known to have had no events if a later one is settled, which has the canary's at least."""


class Operations:
    """Acts on a place. Belongs to one thread; methods raise FencedError, and no BackendError."""

    def __init__(self, backend: Backend, policy: Policy) -> None:
        self._backend, self._policy = backend, policy

    def perform(self, release: Release, now_ms: int) -> Seen:
        """Do the present step, or see that it is done."""
        return self._seen(release, now_ms, self._STEPS.get(release.step))

    def look(self, release: Release, now_ms: int) -> Seen:
        """Change nothing: how the target fares meanwhile."""
        return self._seen(release, now_ms, None)

    def _seen(
        self, release: Release, now_ms: int, step: "Callable[[Operations, Release, Seen], Seen] | None"
    ) -> Seen:
        seen = Seen()
        try:
            if step is not None:
                seen = step(self, release, seen)
            return self._fares(release, seen, now_ms)
        except BackendError as error:
            return replace(seen, problem=f"{release.step}: {error}")

    def _fares(self, release: Release, seen: Seen, now_ms: int) -> Seen:
        if release.step in WATCHED and seen.readiness is None:
            seen = replace(seen, readiness=self._backend.readiness(release.target))
        if release.step in JUDGED and release.traffic_ms:
            first, last = first_whole_minute(release), now_ms // MINUTE_MS
            seen = replace(
                seen,
                minutes=self._backend.minutes(release.target, first, last),
                former_minutes=self._backend.minutes(release.former, first, last),
            )
        return seen

    def _preflight(self, release: Release, seen: Seen) -> Seen:
        sides = {side: self._backend.deployed(side) for side in self._backend.sides()}
        obstacles = self._backend.obstacles(release.target, release.version) if release.target else None
        tenants = release.canary_tenants
        unroutable = self._backend.unroutable(tenants) if tenants else ""
        found = replace(seen, deployed=sides, obstacles=obstacles, unroutable=unroutable)
        return replace(found, weights=self._backend.weights())

    def _snapshot(self, release: Release, seen: Seen) -> Seen:
        return replace(seen, positions=self._backend.positions(release.target))

    def _start(self, release: Release, seen: Seen) -> Seen:
        return self._started(release, seen, release.target, release.version)

    def _restart(self, release: Release, seen: Seen) -> Seen:
        return self._started(release, seen, release.faulty, release.good_version)

    def _wake(self, release: Release, seen: Seen) -> Seen:
        seen = self._started(release, seen, release.former, release.former_version)
        return replace(seen, readiness=self._backend.readiness(release.former))

    def _started(self, release: Release, seen: Seen, side: str, version: str) -> Seen:
        self._backend.start(side, version, fence=release.term)
        return replace(seen, deployed={side: self._backend.deployed(side)})

    def _ready(self, release: Release, seen: Seen) -> Seen:
        # Again, as a start may fail for a reason that passes, such as brokers that are just moving a leader.
        self._backend.start(release.target, release.version, fence=release.term)
        return replace(seen, readiness=self._backend.readiness(release.target))

    def _prove(self, release: Release, seen: Seen) -> Seen:
        proof = self._backend.prove(release.target, self._policy.proof_events, fence=release.term)
        return replace(seen, proof=proof)

    def _load_test(self, release: Release, seen: Seen) -> Seen:
        days = self._policy.rating_days
        if not days:
            return seen
        rating = self._backend.rating(release.target)
        if sufficiency.old(rating, release.version, days, release.since_ms):
            self._backend.begin_load_test(release.target, fence=release.term)
        return replace(seen, rating=rating, former_rating=self._backend.rating(release.former))

    def _traffic(self, release: Release, seen: Seen) -> Seen:
        share = percent(release, self._policy)
        assert share is not None
        wanted, pins = {release.target: share, release.former: 100 - share}, pinned(release)
        if dict(self._backend.weights()) != wanted or dict(self._backend.pinned()) != pins:
            self._backend.set_weights(wanted, pinned=pins, fence=release.term)
        return replace(seen, weights=self._backend.weights(), pinned=self._backend.pinned())

    def _drain(self, release: Release, seen: Seen) -> Seen:
        return replace(seen, remains=self._emptied(release.former, release.term))

    def _catch_up(self, release: Release, seen: Seen) -> Seen:
        self._backend.start(release.faulty, release.good_version, fence=release.term)
        seen = replace(seen, readiness=self._backend.readiness(release.faulty))
        return replace(seen, remains=self._emptied(release.faulty, release.term))

    def _emptied(self, side: str, fence: int) -> Remains:
        self._backend.pause_canary(side, fence=fence)
        return self._backend.remains(side)

    def _park(self, release: Release, seen: Seen) -> Seen:
        return self._parked(release, seen, release.former)

    def _lay_down(self, release: Release, seen: Seen) -> Seen:
        return self._parked(release, seen, release.faulty)

    def _settle(self, release: Release, seen: Seen) -> Seen:
        """A version may have broken its meter, or all of it: the step waits a while, and then goes on."""
        with suppress(BackendError):
            seen = replace(seen, readiness=self._backend.readiness(release.target))
        with suppress(BackendError):
            seen = replace(seen, minutes=self._carried(release, release.target))
        with suppress(BackendError):
            seen = replace(seen, former_minutes=self._carried(release, release.former))
        return seen

    def _carried(self, release: Release, side: str) -> Sequence[SideMinute]:
        last = last_minute(release, self._policy) + _FOLLOWING_MINUTES
        return self._backend.minutes(side, first_minute(release), last)

    def _stop(self, release: Release, seen: Seen) -> Seen:
        seen = self._parked(release, seen, release.faulty)
        try:
            return replace(seen, positions=self._backend.positions(release.faulty))
        except BackendError:
            return seen  # a checkpoint that the bad version broke: the step waits a while, and then goes on

    def _parked(self, release: Release, seen: Seen, side: str) -> Seen:
        self._backend.park(side, fence=release.term)
        return replace(seen, deployed={side: self._backend.deployed(side)})

    def _rewind(self, release: Release, seen: Seen) -> Seen:
        side, went_on = release.faulty, release.left_at or release.snapshot
        if went_on is None:
            return replace(seen, restored="positions are left as they are")
        cause = ""
        if release.replay and release.snapshot and release.left_at:
            begin = replay_positions(release.snapshot, release.left_at)
            try:
                self._restore(release, side, begin, release.left_at)
                return replace(
                    seen, restored="goes back to the snapshot; what went through since is replayed"
                )
            except CannotReplayError as error:
                cause = f", without a replay: {error}"
        self._restore(release, side, went_on, None)
        known = "where it was stopped" if release.left_at else "its snapshot"
        return replace(seen, restored=f"goes on from {known}{cause}")

    def _restore(self, release: Release, side: str, positions: Positions, replayed: Positions | None) -> None:
        self._backend.restore(side, positions, replayed=replayed, fence=release.term)

    _STEPS: Final[Mapping[Step, Callable[["Operations", Release, Seen], Seen]]] = {
        Step.PREFLIGHT: _preflight,
        Step.SNAPSHOT: _snapshot,
        Step.START: _start,
        Step.READY: _ready,
        Step.PROVE: _prove,
        Step.LOAD_TEST: _load_test,
        Step.CANARY: _traffic,
        Step.HALF: _traffic,
        Step.BOTH: _traffic,
        Step.ALL: _traffic,
        Step.DRAIN: _drain,
        Step.PARK: _park,
        Step.WAKE: _wake,
        Step.GIVE_BACK: _traffic,
        Step.SETTLE: _settle,
        Step.STOP: _stop,
        Step.REWIND: _rewind,
        Step.RESTART: _restart,
        Step.CATCH_UP: _catch_up,
        Step.LAY_DOWN: _lay_down,
    }
