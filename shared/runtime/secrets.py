"""Secrets in memory, loaded by a background thread before they are needed.

No text made here contains a value: no error, log line or `repr`.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final, Protocol

from shared.contracts.secrets import SCHEME, UnknownSecretError, secret_name
from shared.runtime.logging import get_logger

_log = get_logger(__name__)

REFRESH_SECONDS: Final = 60.0
"""How often secrets are reloaded, so how long a change takes at most. A secret that is no longer wanted is
kept for as long: events under way still need those that their destination named when they were read."""

_AGAIN_SECONDS: Final = 5.0
"""Pause after a failed reload."""

_MOST_LOGGED: Final = 20
"""Names of missing secrets in one line of the log."""


class SecretStoreError(Exception):
    """The store failed. The text contains no value."""


class SecretStore(Protocol):
    """A store of secrets. Called from one thread at a time; may block."""

    def fetch(self, names: Sequence[str]) -> Iterator[Mapping[str, str | None]]:
        """Values by name in parts as they arrive, in the order of the names; None for missing secrets.

        Secrets that could not be read now are left out.

        Raises:
            SecretStoreError: if the store as a whole failed; what was given before it holds.
        """
        ...


class SecretTable:
    """The values of wanted secrets, refreshed every minute, and at once when a new one is wanted.

    Each is there as soon as it was read, in an order in which many of one tenant do not keep another's from
    being there. While the store fails, known values stay in force. What is wanted no longer is kept, and read
    with the others, until the first refresh after `refresh_seconds`.
    """

    def __init__(self, store: SecretStore, refresh_seconds: float = REFRESH_SECONDS) -> None:
        self._store = store
        self._refresh_seconds = refresh_seconds
        self._values: dict[str, str] = {}
        self._rounds = 0
        self._answered: dict[str, int] = {}
        """The round in which the store last said what a name's value is, or that there is none."""

        self._wanted: frozenset[str] = frozenset()
        self._kept: dict[str, float] = {}
        """Names that are wanted no longer, and until when their values are kept, on the monotonic clock."""

        self._asked: frozenset[str] = frozenset()
        self._stopped = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="secrets", daemon=True)

    def start(self) -> "SecretTable":
        """Start refreshing; returns at once."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End the thread and drop all values."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._thread.join()
        self._values = {}

    def want(self, names: Iterable[str]) -> None:
        """Set the names of needed secrets; others are dropped after `refresh_seconds`."""
        with self._changed:
            former, self._wanted = self._wanted, frozenset(names)
            until = time.monotonic() + self._refresh_seconds
            kept = self._kept | {name: until for name in former if name in self._values}
            self._kept = {name: kept[name] for name in kept.keys() - self._wanted}
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Block until all wanted secrets were requested from the store; False if that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: self._wanted <= self._asked, seconds)

    def wait_for(self, names: Iterable[str], seconds: float) -> bool:
        """Block until these were read, or the store failed to; False if that takes longer."""
        some = frozenset(names)
        with self._changed:
            return self._changed.wait_for(
                lambda: all(name in self._answered or name in self._asked for name in some), seconds
            )

    def get(self, reference: str) -> str:
        """The value of `secret://name`, from memory.

        Raises:
            UnknownSecretError: if it is missing or not loaded yet.
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
        """Wait for the next refresh; False after `stop`."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or not self._wanted <= self._asked, pause)
            return not self._stopped

    def _refresh(self) -> float:
        """Refresh all wanted secrets and those that are kept; returns the seconds until the next refresh."""
        wanted, names = self._begin()
        try:
            for found in self._store.fetch(names) if names else ():
                self._take(found)
                if not self._wanted <= wanted:
                    return 0.0  # a new one does not wait for the rest
        except SecretStoreError as error:
            _log.warning(
                "secrets not refreshed: the store failed; keeping known values", extra={"error": str(error)}
            )
            return self._asked_for(wanted, _AGAIN_SECONDS)
        except Exception as error:  # the text might contain a value
            _log.error(
                "secrets not refreshed: unexpected error; keeping known values",
                extra={"error": type(error).__name__},
            )
            return self._asked_for(wanted, _AGAIN_SECONDS)
        if missing := sorted(wanted - self._values.keys()):
            fields = {"count": len(missing), "names": missing[:_MOST_LOGGED]}
            _log.warning("secrets missing: create them in the store", extra=fields)
        return self._asked_for(wanted, self._refresh_seconds)

    def _begin(self) -> tuple[frozenset[str], list[str]]:
        """Drop what is not kept any longer; returns the wanted names, and all to read in their order."""
        with self._changed:
            now = time.monotonic()
            self._kept = {name: until for name, until in self._kept.items() if now < until}
            wanted, needed = self._wanted, self._wanted | self._kept.keys()
            self._rounds += 1
            self._values = {name: value for name, value in self._values.items() if name in needed}
            self._answered = {name: at for name, at in self._answered.items() if name in needed}
            return wanted, [*in_turn(wanted, self._answered), *in_turn(self._kept, self._answered)]

    def _take(self, found: Mapping[str, str | None]) -> None:
        for name, value in found.items():
            if value is None:
                self._values.pop(name, None)
            else:
                self._values[name] = value
        with self._changed:
            self._answered |= dict.fromkeys(found, self._rounds)
            self._changed.notify_all()

    def _asked_for(self, names: frozenset[str], pause: float) -> float:
        with self._changed:
            self._asked = names
            self._changed.notify_all()
        return min(pause, self._refresh_seconds)


def in_turn(names: Iterable[str], answered: Mapping[str, int]) -> list[str]:
    """Names of secrets in the order in which they are read: the first of each tenant, then each second one.

    Args:
        names: each begins with its tenant.
        answered: when each was last answered; of a tenant, those come first that never were, or long ago.
    """
    had: Counter[str] = Counter()
    turns: list[tuple[int, str]] = []
    for name in sorted(names, key=lambda name: (answered.get(name, 0), name)):
        tenant = name.partition("/")[0]
        turns.append((had[tenant], name))
        had[tenant] += 1
    return [name for _, name in sorted(turns, key=itemgetter(0))]
