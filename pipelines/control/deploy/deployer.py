"""One turn of the deployer: permission, the present step, what becomes of it, and that written down."""

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from pipelines.control.deploy.backend import Backend, FencedError
from pipelines.control.deploy.deciding.decisions import decided
from pipelines.control.deploy.deciding.seen import Seen
from pipelines.control.deploy.deciding.transitions import going_back, taken_over
from pipelines.control.deploy.judging.traffic_minutes import first_warm_minute
from pipelines.control.deploy.operations import Operations
from pipelines.control.deploy.policy import LOOKING, SHARING, Policy, needs_health
from pipelines.control.deploy.side_health import CALM, known_health
from shared.contracts.diamond.stability import Stability, settled
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.release_steps import Step
from shared.contracts.releases import Release
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)


class Store(Protocol):
    """Where releases are kept: shared.dynamodb.release_store."""

    def current(self) -> Release | None:
        """The one that is under way, or that ended last."""
        ...

    def put(self, release: Release, guards: Sequence[dict[str, Any]] = ()) -> Release | None:
        """Write it as the next revision; None if another write came first, or a guard failed."""
        ...


class Permissions(Protocol):
    """Permission to act on the sides: pipelines.control.deploy.permissions."""

    def take(self, release: Release) -> Sequence[str]:
        """Why the present step has to wait; empty if it may begin."""
        ...

    def guards(self) -> list[dict[str, Any]]:
        """Items that let a transaction fail unless what is held is still held."""
        ...

    def let_go(self) -> None:
        """End all activities."""
        ...


class Deployer:
    """Moves the present release on. Belongs to one thread; methods raise StoreError and FencedError."""

    def __init__(  # noqa: PLR0913  # what it reads, what it acts on, and the world
        self,
        *,
        store: Store,
        permissions: Permissions,
        operations: Operations,
        policy: Policy,
        clock: Clock,
        owner: str,
    ) -> None:
        """`owner` names this process, and no other."""
        self._store, self._permissions, self._operations = store, permissions, operations
        self._policy, self._clock, self._owner = policy, clock, owner

    def turn(self) -> bool:
        """Advance the release; returns whether another turn can do more at once."""
        release = self._store.current()
        if release is None or release.ended:
            self._permissions.let_go()
            return False
        if release.owner != self._owner:
            return self._store.put(taken_over(release, self._owner, self._clock())) is not None
        if release.back and not going_back(release):
            return self._write(release, decided(release, Seen(), self._policy, self._clock()))
        known = self._waiting(release)
        try:
            seen = self._operations.perform(known, self._clock())
        except FencedError:
            # If another deployer has taken over, this write fails; else the place remembers another table.
            self._store.put(replace(release, term=release.term + 1))
            raise
        return self._write(release, decided(known, seen, self._policy, self._clock()))

    def _waiting(self, release: Release) -> Release:
        """Note what the release waits for now. A step with a time limit gets it from when it may begin.

        One that gives traffic may have given it before it had to wait: since when its events count stays.
        """
        now_ms = self._clock()
        waits = list(self._permissions.take(release) or self._operations.reasons_to_wait(release, now_ms))
        if waits == release.waits:
            return release
        waited = release.waits_since_ms if release.waits else now_ms
        known = replace(release, waits=waits, waits_since_ms=waited if waits else 0)
        if waits or (release.step in LOOKING and release.step is not Step.READY):
            return known
        if release.step in SHARING:
            return replace(known, limit_from_ms=now_ms)
        return replace(known, since_ms=now_ms)

    def _write(self, before: Release, after: Release) -> bool:
        if after == before:
            return False
        written = self._store.put(after, self._permissions.guards())
        if written is not None and written.step is not before.step:
            _log.info("release", extra=_fields(before, written))
        return written is None or written.step is not before.step


def health_of(backend: Backend, release: Release, side: str) -> Stability:
    """A side's health, as it counts for the present step.

    For the target, only events since its code was started count: alarms about the version before it, perhaps
    the bad one that this release replaces, stay open for up to an hour. Its first traffic does not count
    either: the verdict judges that, as from a version that still compiles.

    In PARK a target with unknown health counts as calm: it has all the traffic in any case.
    """
    if not needs_health(release, side):
        return CALM
    if side == release.former:
        return settled(known_health(backend, side))
    found = known_health(backend, side, max(_started(release), first_warm_minute(release)))
    return CALM if found.silent and release.step is Step.PARK else found


def _started(release: Release) -> int:
    """The epoch minute in which the target's code was started; 0 if this release starts none."""
    return next((each.since_ms // MINUTE_MS for each in release.log if each.step is Step.START), 0)


def _fields(before: Release, after: Release) -> dict[str, Any]:
    said = after.log[-1].said if after.log else ""
    about = {"number": after.number, "kind": after.kind, "version": after.version}
    return about | {"step": after.step, "was": before.step, "said": after.back or said}
