"""Secrets in memory: loaded by a thread of their own before they are needed, never looked up in use.

No value is in any text this module makes: not in an error, a log line or a `repr`.
"""

import threading
from collections.abc import Collection, Iterable, Mapping
from typing import Final, Protocol

from shared.contracts.secrets import SCHEME, UnknownSecretError, secret_name
from shared.runtime.logging import get_logger

_log = get_logger(__name__)

REFRESH_SECONDS: Final = 60.0
"""A changed secret is in force after this long at most."""

_AGAIN_SECONDS: Final = 5.0
"""Until the store is asked again after it gave no answer."""


class SecretStoreError(Exception):
    """The store gave no answer. Its text holds no value."""


class SecretStore(Protocol):
    """Where secrets are kept. Called from one thread at a time; may block."""

    def fetch(self, names: Collection[str]) -> Mapping[str, str | None]:
        """Values by name; None where there is none; a name that could not be read this time is left out.

        Raises:
            SecretStoreError: if nothing can be said of any.
        """
        ...


class SecretTable:
    """The wanted secrets' values, refreshed every minute, and at once when a new one is wanted.

    While the store does not answer, what is known stays in force.
    """

    def __init__(self, store: SecretStore, refresh_seconds: float = REFRESH_SECONDS) -> None:
        self._store = store
        self._refresh_seconds = refresh_seconds
        self._values: Mapping[str, str] = {}
        self._wanted: frozenset[str] = frozenset()
        self._asked: frozenset[str] = frozenset()
        self._stopped = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="secrets", daemon=True)

    def start(self) -> "SecretTable":
        """Begin to keep up; returns at once."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End the thread, and forget."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._thread.join()
        self._values = {}

    def want(self, names: Iterable[str]) -> None:
        """Say which secrets are needed, by name; others are forgotten at the next refresh."""
        with self._changed:
            self._wanted = frozenset(names)
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Block until the store was asked for all that is wanted; False if that took longer."""
        with self._changed:
            return self._changed.wait_for(lambda: self._wanted <= self._asked, seconds)

    def get(self, reference: str) -> str:
        """The value of `secret://name`, from memory.

        Raises:
            UnknownSecretError: if it is not there.
        """
        name = secret_name(reference)
        value = self._values.get(name) if name else None
        if value is None:
            raise UnknownSecretError(reference if name else f"{SCHEME}?")
        return value

    def _run(self) -> None:
        pause = self._refresh_seconds
        while self._next(pause):
            pause = self._refresh()

    def _next(self, pause: float) -> bool:
        """Wait for the next refresh; False when there is none."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or not self._wanted <= self._asked, pause)
            return not self._stopped

    def _refresh(self) -> float:
        """Ask for all that is wanted; returns the seconds until the next time."""
        wanted = self._wanted
        try:
            found = self._store.fetch(wanted) if wanted else {}
        except SecretStoreError as error:
            _log.warning("secrets not refreshed, going on with those known", extra={"error": str(error)})
            return self._asked_for(wanted, _AGAIN_SECONDS)
        except Exception as error:  # its text is not known to be free of values
            _log.error("secrets not refreshed", extra={"error": type(error).__name__})
            return self._asked_for(wanted, _AGAIN_SECONDS)
        kept = {name: value for name, value in self._values.items() if name in wanted and name not in found}
        self._values = kept | {name: value for name, value in found.items() if value is not None}
        if missing := sorted(wanted - self._values.keys()):
            _log.warning("secrets are missing", extra={"names": missing})
        return self._asked_for(wanted, self._refresh_seconds)

    def _asked_for(self, names: frozenset[str], pause: float) -> float:
        with self._changed:
            self._asked = names
            self._changed.notify_all()
        return min(pause, self._refresh_seconds)
