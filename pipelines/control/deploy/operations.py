"""Does to the sides what a step of a release needs, and looks how far it is.

Everything here may be repeated at any time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from pipelines.control.deploy.backend import (
    Backend,
    BackendError,
    Readiness,
    Remains,
    SideMinute,
)
from pipelines.control.deploy.deciding.moved_traffic import share_of
from pipelines.control.deploy.deciding.seen import Seen
from pipelines.control.deploy.deciding.transitions import catches_up
from pipelines.control.deploy.judging import sufficiency
from pipelines.control.deploy.judging.traffic_minutes import first_judged_minute, first_minute, last_minute
from pipelines.control.deploy.patches import Patches
from pipelines.control.deploy.policy import JUDGED, WATCHED, Policy, keeps_retries, percent, pinned
from pipelines.control.deploy.rewinding import rewind
from pipelines.control.deploy.side_health import known_health
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Release

_FOLLOWING_MINUTES: Final = 5
"""A minute is known to have had no events if a later one is settled, which has the canary's at least."""

_TO_FORMER: Final = (Kind.BURST_OFF, Kind.ROLLBACK)
"""They bring a version that has served before: the way back is to be short."""


class Operations:
    """Acts on a place. Belongs to one thread; methods raise FencedError, and no BackendError."""

    def __init__(self, backend: Backend, policy: Policy, sure: Callable[[Release], bool]) -> None:
        """`sure` says whether the present step may still act: no other actor can act on its sides."""
        self._backend, self._policy, self._sure = backend, policy, sure
        self._patches = Patches(backend)

    def reasons_to_wait(self, release: Release, now_ms: int) -> Sequence[str]:
        """Why the place itself does not let the present step begin now, in words; empty if it does."""
        return self._patches.reasons_to_wait(release, now_ms)

    def perform(self, release: Release, now_ms: int) -> Seen:
        """Do the present step, or see that it is done; while it may not act, see how the target fares."""
        seen = Seen(at_ms=now_ms)
        for part in (Operations._acted, *self._fares(release, now_ms)):
            try:
                seen = part(self, release, seen)
            except BackendError as error:  # what else can be seen counts all the same
                seen = replace(seen, problem=seen.problem or f"{release.step}: {error}")
        return seen

    def _acted(self, release: Release, seen: Seen) -> Seen:
        step = self._STEPS.get(release.step)
        if step is None or release.waits:
            return seen
        self._changing(release)  # a step that only reads, too: a snapshot is of a side that is held
        return step(self, release, seen)

    def _changing(self, release: Release) -> Backend:
        """The backend, to change the place through it: asked for anew before each change.

        A look may have taken longer than the activities last.

        Raises:
            BackendError: if the release waits, or another actor may have taken its activities for dead.
        """
        if release.waits or not self._sure(release):
            raise BackendError("its activities could not be kept alive")
        return self._backend

    @staticmethod
    def _fares(release: Release, now_ms: int) -> "Iterator[Callable[[Operations, Release, Seen], Seen]]":
        """Looks at how the target does, each of which may fail for itself."""
        if release.step in WATCHED:
            yield Operations._with_readiness
        if release.step is Step.PARK and release.waits:
            yield Operations._with_former
        if release.step not in JUDGED or not release.traffic_ms:
            return
        first, last = first_judged_minute(release), now_ms // MINUTE_MS
        yield lambda self, release, seen: replace(
            seen, minutes=self._backend.minutes(release.target, first, last)
        )
        if release.step is not Step.BAKE:  # then the target is judged alone
            yield lambda self, release, seen: replace(
                seen, former_minutes=self._backend.minutes(release.former, first, last)
            )

    def _with_readiness(self, release: Release, seen: Seen) -> Seen:
        if seen.readiness is not None:
            return seen
        return replace(seen, readiness=self._backend.readiness(release.target))

    def _with_former(self, release: Release, seen: Seen) -> Seen:
        side = release.former
        return self._with_silence(replace(seen, readiness=self._readiness(side)), side)

    def _with_silence(self, seen: Seen, side: str) -> Seen:
        return replace(seen, silent=known_health(self._backend, side).silent)

    def _preflight(self, release: Release, seen: Seen) -> Seen:
        # Only to find the target: a rollback must not depend on a bad side that may not answer.
        asked = () if release.target else self._backend.sides()
        sides = {side: self._backend.deployed(side) for side in asked}
        tenants = release.canary_tenants
        unroutable = self._backend.unroutable(tenants) if tenants else ""
        found = replace(seen, deployed=sides, unroutable=unroutable)
        if release.target:
            found = self._with_obstacles(release, found)
        return replace(found, weights=self._backend.weights())

    def _with_obstacles(self, release: Release, seen: Seen) -> Seen:
        if release.kind in _TO_FORMER:
            with suppress(BackendError):  # the way back does not wait for what cannot be asked
                seen = replace(seen, closed=self._backend.closed(release.target))
            return seen
        obstacles = self._backend.obstacles(release.target, release.version)
        if obstacles is not None and not obstacles:
            seen = replace(seen, no_way_back=self._no_way_back(release))
        return replace(seen, obstacles=obstacles)

    def _no_way_back(self, release: Release) -> str:
        """The version that serves is started again on the target, and on its own side if that is parked."""
        found = (
            self._backend.unstartable(side, release.former_version)
            for side in (release.target, release.former)
        )
        return next(filter(None, found), "")

    def _snapshot(self, release: Release, seen: Seen) -> Seen:
        side = release.target
        return replace(seen, positions=self._backend.positions(side), remains=self._backend.remains(side))

    def _start(self, release: Release, seen: Seen) -> Seen:
        seen = replace(seen, weights=self._backend.weights())
        if share_of(seen.weights, release.target):
            return seen
        return self._started(release, seen, release.target, release.version)

    def _restart(self, release: Release, seen: Seen) -> Seen:
        return self._started(release, seen, release.faulty, release.good_version)

    def _wake(self, release: Release, seen: Seen) -> Seen:
        side = release.former
        found, ready = self._backend.deployed(side), self._readiness(side)
        seen = replace(seen, deployed={side: found}, readiness=ready)
        if found.parked or release.woken or not ready.ready:
            seen = self._begun(release, seen, side, release.former_version)
        return seen

    def _started(self, release: Release, seen: Seen, side: str, version: str) -> Seen:
        seen = self._begun(release, seen, side, version)
        return replace(seen, deployed={side: self._backend.deployed(side)})

    def _begun(self, release: Release, seen: Seen, side: str, version: str) -> Seen:
        """Start a version, at each look: a start may fail for a reason that passes.

        The side is asked first, as another start forgets why the last one failed.
        """
        found, backend = self._readiness(side), self._changing(release)
        try:
            backend.start(side, version, fence=release.term)
        except BackendError as error:
            found = replace(found, ready=False, waiting_for=(str(error),))
        return replace(seen, readiness=found)

    def _readiness(self, side: str) -> Readiness:
        """Whether a side could take traffic; one that cannot be asked could not."""
        try:
            return self._backend.readiness(side)
        except BackendError as error:
            return Readiness(ready=False, waiting_for=(str(error),))

    def _ready(self, release: Release, seen: Seen) -> Seen:
        return self._begun(release, seen, release.target, release.version)

    def _prove(self, release: Release, seen: Seen) -> Seen:
        seen = self._with_target(release, seen)
        if seen.deployed[release.target].parked:
            return seen
        events, fence = self._policy.proof_events, release.term
        return replace(seen, proof=self._changing(release).prove(release.target, events, fence=fence))

    def _with_target(self, release: Release, seen: Seen) -> Seen:
        return replace(seen, deployed={release.target: self._backend.deployed(release.target)})

    def _load_test(self, release: Release, seen: Seen) -> Seen:
        days = self._policy.rating_days
        if not days:
            return seen
        seen = self._with_target(release, seen)
        if seen.deployed[release.target].parked:
            return seen
        rating = self._backend.rating(release.target)
        if sufficiency.old(rating, release.version, days, release.since_ms):
            self._changing(release).begin_load_test(release.target, fence=release.term)
        return replace(seen, rating=rating, former_rating=self._backend.rating(release.former))

    def _first_traffic(self, release: Release, seen: Seen) -> Seen:
        """Give the target a share once it is ready, if it has none: it may have been ready some time ago."""
        if not share_of(self._backend.weights(), release.target):
            # The place may have been started again, with what has traffic only.
            seen = self._begun(release, seen, release.target, release.version)
            if seen.readiness is None or not seen.readiness.ready:
                return seen
        return self._traffic(release, seen)

    def _traffic(self, release: Release, seen: Seen) -> Seen:
        share = percent(release, self._policy)
        assert share is not None
        wanted = {release.target: share, release.former: 100 - share}
        # Whatever is written down already: one that died may have written it and done nothing.
        self._changing(release).set_weights(wanted, pinned=pinned(release), fence=release.term)
        return replace(seen, weights=self._backend.weights(), pinned=self._backend.pinned())

    def _give_back(self, release: Release, seen: Seen) -> Seen:
        if not (release.opened or release.by_hand):
            seen = replace(seen, weights=self._backend.weights())
            if share_of(seen.weights, release.target):
                return seen  # which is written down first
        return self._traffic(release, seen)

    def _drain(self, release: Release, seen: Seen) -> Seen:
        side = release.former
        # The place may have been started again, with what has traffic only.
        seen = self._begun(release, seen, side, release.former_version)
        if seen.readiness is not None and seen.readiness.ready:
            seen = self._drained(release, seen, side)
        else:
            with suppress(BackendError):  # a broken side may not say what it has; it is given up all the same
                seen = self._drained(release, seen, side)
        return seen if seen.dead_letters is None else self._with_silence(seen, side)

    def _catch_up(self, release: Release, seen: Seen) -> Seen:
        seen = self._begun(release, seen, release.faulty, release.good_version)
        if seen.readiness is None or not seen.readiness.ready:
            return seen
        return self._drained(release, seen, release.faulty)

    def _drained(self, release: Release, seen: Seen, side: str) -> Seen:
        """Add to `seen` what is left of a side and, once it has read everything, its dead letters."""
        seen = replace(seen, remains=self._emptied(release, side))
        if seen.remains is None or sufficiency.left(seen.remains, retries=False):
            return seen
        return replace(seen, dead_letters=self._backend.dead_letters(side))

    def _emptied(self, release: Release, side: str) -> Remains:
        with suppress(BackendError):  # one that is stopped already sends nothing: what it sends would be left
            self._changing(release).pause_canary(side, fence=release.term)
        return self._backend.remains(side)

    def _park(self, release: Release, seen: Seen) -> Seen:
        if release.unfinished:
            return self._parked(release, seen, release.former)
        return self._parked_empty(release, seen, release.former, release.former_version)

    def _lay_down(self, release: Release, seen: Seen) -> Seen:
        side = release.faulty
        if release.unfinished or not catches_up(release):
            return self._parked(release, seen, side)
        return self._parked_empty(release, seen, side, release.good_version)

    def _parked_empty(self, release: Release, seen: Seen, side: str, version: str) -> Seen:
        """Looks before and after: a side that got something meanwhile is not stopped, or runs again."""
        if share_of(weights := self._backend.weights(), side):
            # It may be half stopped already, and what it takes has to be processed.
            self._changing(release).start(side, version, fence=release.term)
            return replace(seen, weights=weights)
        if not release.traffic_ms:
            return replace(seen, weights=weights)  # it had some by hand: clients may still send to it
        if not self._backend.deployed(side).parked:
            remains = self._emptied(release, side)
            kept = keeps_retries(release, self._policy, seen.at_ms)
            if sufficiency.left(remains, retries=kept):
                return replace(seen, remains=remains)
        seen = self._stopped(release, seen, side)
        if seen.deployed[side].parked:
            seen = replace(seen, remains=self._backend.remains(side))
        return seen

    def _settle(self, release: Release, seen: Seen) -> Seen:
        """A version may have broken its meter, or all of it: the step waits a while, and then goes on."""
        seen = self._still_runs(release, seen)
        with suppress(BackendError):
            seen = replace(seen, minutes=self._carried(release, release.target))
        with suppress(BackendError):
            seen = replace(seen, former_minutes=self._carried(release, release.former))
        return seen

    def _still_runs(self, release: Release, seen: Seen) -> Seen:
        """Whether the version that is put right runs, if that can be known: a bad one may not answer."""
        with suppress(BackendError):
            seen = replace(seen, readiness=self._backend.readiness(release.faulty))
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
        seen = replace(seen, weights=self._backend.weights())
        if share_of(seen.weights, side) or not release.traffic_ms:
            return seen
        return self._stopped(release, seen, side)

    def _stopped(self, release: Release, seen: Seen, side: str) -> Seen:
        self._changing(release).park(side, fence=release.term)
        return replace(seen, deployed={side: self._backend.deployed(side)})

    def _rewind(self, release: Release, seen: Seen) -> Seen:
        if release.left_at is None and release.snapshot is not None:
            # Written down first: a checkpoint that was made anew does not say that it could not be read.
            return replace(seen, positions=self._backend.readable_positions(release.faulty))
        return replace(seen, restored=rewind(lambda: self._changing(release), release))

    # The steps that do something. The others, such as WATCH and BAKE, only look at the minutes (`_fares`).
    _STEPS: Final[Mapping[Step, Callable[["Operations", Release, Seen], Seen]]] = {
        Step.PREFLIGHT: _preflight,
        Step.SNAPSHOT: _snapshot,
        Step.START: _start,
        Step.READY: _ready,
        Step.PROVE: _prove,
        Step.LOAD_TEST: _load_test,
        Step.CANARY: _first_traffic,
        Step.HALF: _traffic,
        Step.BOTH: _first_traffic,
        Step.ALL: _first_traffic,
        Step.DRAIN: _drain,
        Step.PARK: _park,
        Step.WAKE: _wake,
        Step.GIVE_BACK: _give_back,
        Step.SETTLE: _settle,
        Step.LINGER: _still_runs,
        Step.STOP: _stop,
        Step.REWIND: _rewind,
        Step.RESTART: _restart,
        Step.CATCH_UP: _catch_up,
        Step.LAY_DOWN: _lay_down,
    }
