"""The deployer's report on both sides in the table, for people: `hifi sides`."""

from collections.abc import Iterator
from contextlib import suppress

from pipelines.control.deploy.backend import Backend, BackendError
from shared.contracts.releases import SideState


def side_states(backend: Backend, now_ms: int) -> Iterator[SideState]:
    """The state of each side as it is now; `now_ms` in epoch milliseconds."""
    for side in backend.sides():
        try:
            yield _state(backend, side, now_ms)
        except BackendError as error:
            yield SideState(side=side, at_ms=now_ms, problem=str(error))


def _state(backend: Backend, side: str, now_ms: int) -> SideState:
    deployed, health = backend.deployed(side), backend.stability(side)
    unread, waiting = None, 0
    if not deployed.parked:
        with suppress(BackendError):
            remains = backend.remains(side)
            unread, waiting = sum(remains.lag.values()), remains.retries
    rating = None
    with suppress(BackendError):
        rating = backend.rating(side)
    return SideState(
        side=side,
        at_ms=now_ms,
        version=deployed.version,
        parked=deployed.parked,
        share=backend.weights()[side],
        stable=health.stable,
        reasons=[] if deployed.parked else list(health.reasons),
        unread=unread,
        waiting=waiting,
        rating=rating.events_per_second if rating else None,
        rating_p95_ms=rating.p95_ms if rating else None,
    )
