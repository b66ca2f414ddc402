"""Follows the rollouts that stopped, on a thread, so that a slow table delays no look."""

import threading
from collections.abc import Mapping, Sequence
from typing import Final

from pipelines.control.observe.alarms.inputs import StoppedRollout
from shared.contracts.rollouts import RolloutPhase, RolloutState, tenant_and_pipe
from shared.dynamodb.client import StoreError
from shared.dynamodb.rollout_store import RolloutStore
from shared.dynamodb.unreadable_rows import UnreadableRows
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_EVERY_SECONDS: Final = 5.0
_STOP_SECONDS: Final = 10.0


class RolloutWatch:
    """`stopped` may be called from any thread."""

    def __init__(self, store: RolloutStore | None, side: str) -> None:
        """Without a store, none ever stopped. What another side's provisioner stopped is that side's."""
        self._store, self._side = store, side
        self._stopped: Sequence[StoppedRollout] | None = () if store is None else None
        self._unreadable = UnreadableRows("rollouts")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rollout-watch", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        if self._store is not None:
            self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)

    def stopped(self) -> Sequence[StoppedRollout] | None:
        """Those that are stopped now; None while they were not read yet."""
        return self._stopped

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._look()
            self._stopping.wait(_EVERY_SECONDS)

    def _look(self) -> None:
        assert self._store is not None
        try:
            states, unreadable = self._store.readable_states()
            self._unreadable.report(unreadable)
            self._stopped = _stopped(states, self._side)
        except StoreError as error:  # what is known stays
            _log.warning("rollouts not read; retrying", extra={"error": str(error)})
        except Exception:  # the next look may do, and without the thread no alarm of a rollout opens or ends
            _log.exception("rollouts not read: unexpected error; retrying")


def _stopped(states: Mapping[str, RolloutState], side: str) -> list[StoppedRollout]:
    found = []
    for key, state in states.items():
        if state.state is RolloutPhase.STOPPED and state.side == side:
            tenant, pipe = tenant_and_pipe(key)
            found.append(StoppedRollout(tenant=tenant, pipe=pipe, share=state.share, reason=state.reason))
    return found
