"""The lead of a side, kept while a look at the table is under way."""

import threading
from collections.abc import Callable
from typing import Final

from shared.dynamodb.client import StoreError
from shared.dynamodb.lease import Lease
from shared.runtime.logging import get_logger

_BEATS: Final = 3
"""So often the lease is renewed in the time after which it would be lost."""

_log = get_logger(__name__)


class Lead:
    """A lease that a second thread renews: a look at many tenants takes longer than the lease.

    A look that takes too long is taken for one that hangs, and costs the lead. Only `held` takes over.
    """

    def __init__(
        self, lease: Lease, *, lease_seconds: float, look_seconds: float, monotonic: Callable[[], float]
    ) -> None:
        """Want the lead.

        Args:
            lease: only this object uses it.
            lease_seconds: after which a silent holder has lost it.
            look_seconds: for how long it is renewed after `held`.
            monotonic: seconds of a clock that never goes back.
        """
        self._lease, self._monotonic = lease, monotonic
        self._pause, self._look_seconds = lease_seconds / _BEATS, look_seconds
        self._using = threading.Lock()
        self._held, self._began = False, monotonic()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lead", daemon=True)

    def start(self) -> None:
        """Start to renew; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and give the lead up if this process has it."""
        self._stopping.set()
        self._thread.join()
        if self._held:
            self._lease.release()

    def held(self) -> bool:
        """Whether this process leads; a look begins.

        Raises:
            StoreError: if the table cannot be used; whether it leads is not known then.
        """
        with self._using:
            self._began = self._monotonic()
            self._held = self._lease.held()
            return self._held

    def keep(self) -> None:
        """Renew the lease if this process has it, and its look does not hang."""
        with self._using:
            if self._held and self._monotonic() - self._began <= self._look_seconds:
                self._held = self._lease.held()

    def _run(self) -> None:
        while not self._stopping.wait(self._pause):
            try:
                self.keep()
            except StoreError as error:
                _log.warning("the lead cannot be renewed, trying again", extra={"error": str(error)})
