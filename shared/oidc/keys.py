"""An issuer's keys, kept in memory: read again when they are old, and when a token names an unknown one."""

import threading
from collections.abc import Callable, Sequence
from typing import Final

from joserfc.jwk import Key

from shared.oidc.errors import ProviderAwayError, TokenRefusedError
from shared.runtime.concurrency_limit import ConcurrencyLimit
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
FRESH_SECONDS: Final = 600.0
"""After so long the keys are read again: one that the issuer withdrew is good for that long at most."""

AGAIN_SECONDS: Final = 5.0
"""Least time between two reads, so that tokens with made-up key ids do not become requests to the issuer."""

_WAITING: Final = 4
"""Requests that wait for a read at a time; further ones are refused, or they would hold all threads."""


def on_a_thread(work: Callable[[], None]) -> None:
    """Do it while others go on."""
    threading.Thread(target=work, name="issuer-keys", daemon=True).start()


class KeyCache:
    """May be asked from any thread."""

    def __init__(
        self,
        read: Callable[[], Sequence[Key]],
        monotonic: Callable[[], float],
        behind: Callable[[Callable[[], None]], None] = on_a_thread,
    ) -> None:
        """Keep keys.

        Args:
            read: blocks, gives the issuer's keys, raises ProviderAwayError.
            monotonic: seconds of a clock that never goes back.
            behind: does work in the background.
        """
        self._read, self._monotonic, self._behind = read, monotonic, behind
        self._keys: Sequence[Key] = ()
        self._read_at = self._tried_at = float("-inf")
        self._failure = ""
        self._one_reads = threading.Lock()
        self._room = ConcurrencyLimit(_WAITING, lambda: ProviderAwayError("the issuer's keys are being read"))

    def find(self, kid: str | None) -> Key:
        """The key of an id; without an id the only key there is.

        Raises:
            TokenRefusedError: if the issuer was asked, and has no such key.
            ProviderAwayError: if it is not known here, and the issuer cannot be asked, or was a moment ago.
        """
        known = self._known(kid)
        asked = False
        if known is None:
            asked = self._wait_for_read()
        elif self._monotonic() - self._read_at > FRESH_SECONDS and self._one_reads.acquire(blocking=False):
            self._read_behind()
        known = known or self._known(kid)
        if known is not None:
            return known
        if asked and not self._failure:
            raise TokenRefusedError("it is signed with none of the issuer's keys")
        raise ProviderAwayError(self._failure or "its key is unknown, and the issuer's were read just now")

    def _known(self, kid: str | None) -> Key | None:
        keys = self._keys
        if kid is None:
            return keys[0] if len(keys) == 1 else None
        return next((key for key in keys if key.kid == kid), None)

    def _read_behind(self) -> None:
        try:
            self._behind(self._read_and_release)
        except BaseException:  # as when no thread can be started
            self._one_reads.release()
            raise

    def _read_and_release(self) -> None:
        try:
            self._read_again()
        finally:
            self._one_reads.release()

    def _wait_for_read(self) -> bool:
        with self._room.permit(), self._one_reads:
            return self._read_again()

    def _read_again(self) -> bool:
        """Read unless that was done a moment ago, and whether; a failure leaves the known keys in force."""
        now = self._monotonic()
        if now - self._tried_at < AGAIN_SECONDS:
            return False
        self._tried_at = now
        try:
            self._keys, self._failure, self._read_at = self._read(), "", now
        except ProviderAwayError as error:
            self._failure = str(error)
            _log.warning("the issuer's keys cannot be read: known ones go on", extra={"error": str(error)})
        return True
