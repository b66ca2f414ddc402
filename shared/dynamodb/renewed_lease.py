"""A lease that is kept while its holder works: one piece of work may take longer than the lease."""

import threading
from collections.abc import Callable
from typing import Final

from shared.dynamodb.client import StoreError
from shared.dynamodb.lease import Lease
from shared.runtime.logging import get_logger

RENEWALS: Final = 3
"""So often a lease is renewed in the time after which it would be lost."""

_log = get_logger(__name__)


def _nothing() -> None:
    """Renewal hook of a holder that keeps only the lease alive."""


class RenewedLease:
    """A lease that a thread of its own renews.

    Only `held` takes it over, and begins a piece of work. Work that takes too long is taken for work that
    hangs: the lease is not renewed any more until `held` is called again.

    A lease that was renewed less than `renew_seconds` ago is held without asking the table: another process
    can have it only RENEWALS times as long after its last renewal. A holder that was suspended asks, as that
    is long ago when it goes on.
    """

    def __init__(
        self,
        lease: Lease,
        *,
        renew_seconds: float,
        work_seconds: float,
        monotonic: Callable[[], float],
        also: Callable[[], None] = _nothing,
    ) -> None:
        """Want the lease.

        Args:
            lease: only this object uses it.
            renew_seconds: between two renewals.
            work_seconds: for how long it is renewed after `held`.
            monotonic: seconds of a clock that never goes back.
            also: keeps alive what the holder has besides; called at each renewal, and by a process that does
                not hold the lease too. May raise StoreError.
        """
        self._lease, self._monotonic, self._also = lease, monotonic, also
        self._renew_seconds, self._work_seconds = renew_seconds, work_seconds
        self._using = threading.Lock()
        self._held, self._began, self._renewed = False, monotonic(), float("-inf")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    def start(self) -> None:
        """Start to renew; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and give the lease up if this process has it."""
        self._stopping.set()
        self._thread.join()
        self.give_up()

    def held(self) -> bool:
        """Whether this process has the lease; a piece of work begins.

        Raises:
            StoreError: if the table cannot be used; who has it is not known then.
        """
        with self._using:
            self._began = self._monotonic()
            if not (self._held and self._began - self._renewed < self._renew_seconds):
                self._renew()
            return self._held

    def doubt(self) -> None:
        """Let the next `held` ask the table, however recent the renewal: another process has written."""
        with self._using:
            self._renewed = float("-inf")

    def give_up(self) -> None:
        """Let another process take it at once; `held` may take it again."""
        with self._using:
            if self._held:
                self._lease.release()
            self._held = False

    def keep(self) -> None:
        """Renew the lease if this process has it, and its work does not hang.

        Raises:
            StoreError: if the table cannot be used.
        """
        if self._monotonic() - self._began > self._work_seconds:
            return
        self._also()
        with self._using:
            if self._held:
                self._renew()

    def _renew(self) -> None:
        """Counts from before the request: a process may be suspended between the table's answer and now."""
        asked = self._monotonic()
        self._held = self._lease.held()
        self._renewed = asked

    def _run(self) -> None:
        while not self._stopping.wait(self._renew_seconds):
            try:
                self.keep()
            except StoreError as error:
                _log.warning("a lease cannot be renewed, trying again", extra={"error": str(error)})
            except Exception:  # without this thread it would be lost in the middle of each long piece of work
                _log.exception("a lease cannot be renewed: unexpected error; trying again")
