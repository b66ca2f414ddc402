"""The two sides of a release: acts on them as long as it holds them, and looks what came of it.

Everything here may be repeated at any time.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from pipelines.control.deploy.backend import Backend, BackendError, Readiness, Remains
from pipelines.control.deploy.deciding.moved_traffic import share_of
from pipelines.control.deploy.deciding.seen import Seen
from pipelines.control.deploy.judging import sufficiency
from pipelines.control.deploy.policy import Policy, keeps_retries, percent, pinned
from pipelines.control.deploy.side_health import known_health
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.releases import Release

_TROUBLE_MINUTES: Final = 5
"""Minutes in which an alarm about the side that a switch leaves makes it leave at once. Alarms stay open for
an hour, and what they are about may have passed."""


class HeldSides:
    """Acts on a place. Belongs to one thread; methods raise FencedError and BackendError.

    Attributes:
        backend: the place, to look at it; it is changed through `changing` alone.
        policy: the limits.
    """

    def __init__(self, backend: Backend, policy: Policy, sure: Callable[[Release], bool]) -> None:
        """`sure` says whether the present step may still act: no other actor can act on its sides."""
        self.backend, self.policy, self._sure = backend, policy, sure

    def changing(self, release: Release) -> Backend:
        """The backend, to change the place through it: asked for anew before each change.

        A look may have taken longer than the activities last.

        Raises:
            BackendError: if the release waits, or another actor may have taken its activities for dead.
        """
        if release.waits or not self._sure(release):
            raise BackendError("its activities could not be kept alive")
        return self.backend

    def readiness(self, side: str) -> Readiness:
        """Whether a side could take traffic; one that cannot be asked could not."""
        try:
            return self.backend.readiness(side)
        except BackendError as error:
            return Readiness(ready=False, waiting_for=(str(error),))

    def started(self, release: Release, seen: Seen, side: str, version: str) -> Seen:
        """As `begun`; adds to `seen` what the side has then."""
        seen = self.begun(release, seen, side, version)
        return replace(seen, deployed={side: self.backend.deployed(side)})

    def begun(self, release: Release, seen: Seen, side: str, version: str) -> Seen:
        """Start a version, at each look: a start may fail for a reason that passes.

        The side is asked first, as another start forgets why the last one failed.
        """
        found, backend = self.readiness(side), self.changing(release)
        try:
            backend.start(side, version, fence=release.term)
        except BackendError as error:
            found = replace(found, ready=False, waiting_for=(str(error),))
        return replace(seen, readiness=found)

    def with_target(self, release: Release, seen: Seen) -> Seen:
        """Add to `seen` what the target has."""
        return replace(seen, deployed={release.target: self.backend.deployed(release.target)})

    def with_silence(self, seen: Seen, side: str) -> Seen:
        """Add to `seen` whether nothing is known of a side's health."""
        return replace(seen, silent=known_health(self.backend, side).silent)

    def with_trouble(self, seen: Seen, side: str) -> Seen:
        """Add to `seen` whether a side was not stable in the last minutes, or says nothing of its health."""
        since = max(0, seen.at_ms // MINUTE_MS - _TROUBLE_MINUTES)
        health = known_health(self.backend, side, since)
        return replace(seen, silent=health.silent, trouble=not (health.stable or health.silent))

    def traffic(self, release: Release, seen: Seen) -> Seen:
        """Set the weights of the present step, and its pinned customers."""
        share = percent(release, self.policy)
        assert share is not None
        wanted = {release.target: share, release.former: 100 - share}
        # Whatever is written down already: one that died may have written it and done nothing.
        self.changing(release).set_weights(wanted, pinned=pinned(release), fence=release.term)
        return replace(seen, weights=self.backend.weights(), pinned=self.backend.pinned())

    def drained(self, release: Release, seen: Seen, side: str) -> Seen:
        """Add to `seen` what is left of a side and, once it has read everything, its dead letters."""
        seen = replace(seen, remains=self.emptied(release, side))
        if seen.remains is None or sufficiency.left(seen.remains, retries=False):
            return seen
        return replace(seen, dead_letters=self.backend.dead_letters(side))

    def emptied(self, release: Release, side: str) -> Remains:
        """What is left of a side, once its canary sends nothing more."""
        with suppress(BackendError):  # one that is stopped already sends nothing: what it sends would be left
            self.changing(release).pause_canary(side, fence=release.term)
        return self.backend.remains(side)

    def parked(self, release: Release, seen: Seen, side: str) -> Seen:
        """Stop a side as it is, unless it has traffic or clients may still send to it."""
        seen = replace(seen, weights=self.backend.weights())
        if share_of(seen.weights, side) or not release.traffic_ms:
            return seen
        return self.stopped(release, seen, side)

    def parked_empty(self, release: Release, seen: Seen, side: str, version: str) -> Seen:
        """Stop a side that has nothing left.

        Looks before and after: a side that got something meanwhile is not stopped, or runs again.
        """
        if share_of(weights := self.backend.weights(), side):
            # It may be half stopped already, and what it takes has to be processed.
            self.changing(release).start(side, version, fence=release.term)
            return replace(seen, weights=weights)
        if not release.traffic_ms:
            return replace(seen, weights=weights)  # it had some by hand: clients may still send to it
        if not self.backend.deployed(side).parked:
            remains = self.emptied(release, side)
            kept = keeps_retries(release, self.policy, seen.at_ms)
            if sufficiency.left(remains, retries=kept):
                return replace(seen, remains=remains)
        seen = self.stopped(release, seen, side)
        if seen.deployed[side].parked:
            seen = replace(seen, remains=self.backend.remains(side))
        return seen

    def stopped(self, release: Release, seen: Seen, side: str) -> Seen:
        """Stop a side; add to `seen` what it has then."""
        self.changing(release).park(side, fence=release.term)
        return replace(seen, deployed={side: self.backend.deployed(side)})
