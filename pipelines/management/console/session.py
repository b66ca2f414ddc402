"""Who is signed in, kept in memory only: a restart signs everybody out, and no token is on a disk."""

import secrets
from typing import Final

from msgspec import Struct

from shared.runtime.clock import Clock

COOKIE: Final = "hifi_session"
LIFE_MS: Final = 12 * 3_600_000
"""A session ends so long after signing in, or with its token if that is earlier."""

_MOST: Final = 1_000
_BYTES: Final = 32


class Identity(Struct, frozen=True, kw_only=True):
    """What the API says of a token."""

    id: str
    role: str
    tenant: str | None = None
    label: str = ""
    expires_ms: int | None = None

    @property
    def writes(self) -> bool:
        """Whether it may change documents. The API decides; this only spares buttons that it would refuse."""
        return self.role != "viewer"


class Session(Struct, frozen=True, kw_only=True):
    """One signed-in browser."""

    id: str
    token: str
    identity: Identity
    until_ms: int


class Sessions:
    """The sessions of this process, by an id of 256 random bits, which the browser's cookie holds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, Session] = {}

    def begin(self, token: str, identity: Identity) -> Session:
        """A new session; of too many, the oldest ends."""
        now = self._clock()
        self._open = {key: each for key, each in self._open.items() if each.until_ms > now}
        while len(self._open) >= _MOST:
            del self._open[next(iter(self._open))]
        until = min(now + LIFE_MS, identity.expires_ms or now + LIFE_MS)
        session = Session(id=secrets.token_urlsafe(_BYTES), token=token, identity=identity, until_ms=until)
        self._open[session.id] = session
        return session

    def find(self, session_id: str | None) -> Session | None:
        """The session of a cookie; None if it has ended."""
        found = self._open.get(session_id or "")
        if found is not None and found.until_ms <= self._clock():
            self.end(found.id)
            return None
        return found

    def end(self, session_id: str | None) -> None:
        """Forget a session and its token."""
        self._open.pop(session_id or "", None)
