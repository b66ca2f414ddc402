"""Does to the sides what a step of a release needs, and looks how far it is.

Everything here may be repeated at any time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from pipelines.control.deploy import back_operations, forward_operations
from pipelines.control.deploy.backend import Backend, BackendError
from pipelines.control.deploy.deciding.seen import Seen
from pipelines.control.deploy.held_sides import HeldSides
from pipelines.control.deploy.judging.traffic_minutes import first_judged_minute
from pipelines.control.deploy.patches import Patches
from pipelines.control.deploy.policy import JUDGED, WARMING, WATCHED, Policy, judged_alone
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.release_steps import Step
from shared.contracts.releases import Release

_STEPS: Final[Mapping[Step, Callable[[HeldSides, Release, Seen], Seen]]] = {
    Step.PREFLIGHT: forward_operations.preflight,
    Step.SNAPSHOT: forward_operations.snapshot,
    Step.START: forward_operations.start,
    Step.READY: forward_operations.ready,
    Step.PROVE: forward_operations.prove,
    Step.LOAD_TEST: forward_operations.load_test,
    Step.CANARY: forward_operations.first_traffic,
    Step.HALF: HeldSides.traffic,
    Step.BOTH: forward_operations.first_traffic,
    Step.ALL: forward_operations.first_traffic,
    Step.DRAIN: forward_operations.drain,
    Step.PARK: forward_operations.park,
    Step.WAKE: back_operations.wake,
    Step.GIVE_BACK: back_operations.give_back,
    Step.SETTLE: back_operations.settle,
    Step.LINGER: back_operations.still_runs,
    Step.STOP: back_operations.stop,
    Step.REWIND: back_operations.rewind,
    Step.RESTART: back_operations.restart,
    Step.CATCH_UP: back_operations.catch_up,
    Step.LAY_DOWN: back_operations.lay_down,
}
"""The steps that do something. The others, such as WATCH and WARM, only look at the minutes (`_fares`)."""


class Operations:
    """Acts on a place. Belongs to one thread; methods raise FencedError, and no BackendError."""

    def __init__(self, backend: Backend, policy: Policy, sure: Callable[[Release], bool]) -> None:
        """`sure` says whether the present step may still act: no other actor can act on its sides."""
        self._backend, self._sides = backend, HeldSides(backend, policy, sure)
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
        step = _STEPS.get(release.step)
        if step is None or release.waits:
            return seen
        self._sides.changing(release)  # a step that only reads, too: a snapshot is of a side that is held
        return step(self._sides, release, seen)

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
        if release.step in WARMING:
            yield lambda self, release, seen: self._sides.with_trouble(seen, release.former)
        if not judged_alone(release):
            yield lambda self, release, seen: replace(
                seen, former_minutes=self._backend.minutes(release.former, first, last)
            )

    def _with_readiness(self, release: Release, seen: Seen) -> Seen:
        if seen.readiness is not None:
            return seen
        return replace(seen, readiness=self._backend.readiness(release.target))

    def _with_former(self, release: Release, seen: Seen) -> Seen:
        side = release.former
        return self._sides.with_silence(replace(seen, readiness=self._sides.readiness(side)), side)
