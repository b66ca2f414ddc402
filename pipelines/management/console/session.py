"""Sessions of signed-in people, in memory only: a restart ends all of them, and no token is on a disk."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from shared.contracts.api_answers.access import Identity as IdentityAnswer
from shared.contracts.api_answers.access import MembershipView, Role
from shared.oidc.code_flow import SignedIn
from shared.oidc.errors import ProviderAwayError, TokenRefusedError
from shared.runtime.clock import Clock

COOKIE: Final = "hifi_session"
LIFE_MS: Final = 12 * 3_600_000
"""A session ends so long after signing in, or with its token if that is earlier and cannot be renewed."""

RENEW_MS: Final = 60_000
"""How long before its end a token is renewed."""

MOST_SESSIONS: Final = 4_000
"""Most sessions of all people; each takes a few kilobytes."""

MOST_EACH: Final = 20
"""Most sessions of one person, or of one token."""

_BYTES: Final = 32


class Identity(IdentityAnswer, frozen=True, kw_only=True):
    """A token's holder and roles, as the API states them."""

    tenants: tuple[MembershipView, ...] = ()

    @property
    def operates(self) -> bool:
        """Whether all tenants are open to it."""
        return self.role == Role.OPERATOR

    @property
    def writes(self) -> bool:
        """Whether it may change documents. The API decides; this only spares buttons that it would refuse."""
        return self.role not in (None, Role.VIEWER)

    @property
    def manages(self) -> bool:
        """Whether it may invite and remove members."""
        return self.role in (Role.OWNER, Role.OPERATOR)

    def within(self, tenant: str) -> "Identity":
        """The same with the role that it has in a tenant."""
        found = next((each for each in self.tenants if each.tenant == tenant), None)
        return self if self.operates or found is None else replace(self, role=found.role, tenant=tenant)


def joined(identity: Identity, membership: MembershipView) -> Identity:
    """The same with a role in one more tenant, or another role in it; as the API would say it."""
    others = (each for each in identity.tenants if each.tenant != membership.tenant)
    tenants = tuple(sorted((*others, membership), key=lambda each: each.tenant))
    if identity.operates:
        return replace(identity, tenants=tenants)
    only = tenants[0] if len(tenants) == 1 else None
    return replace(
        identity,
        tenants=tenants,
        role=None if only is None else only.role,
        tenant=None if only is None else only.tenant,
    )


class Session(Struct, frozen=True, kw_only=True):
    """One signed-in browser."""

    id: str
    token: str
    identity: Identity
    until_ms: int
    signed_in: SignedIn | None = None
    """The issuer's sign-in, which can renew the token; None for a token that was typed."""

    shown_once: str | None = None
    """A personal token that was just made, until a page has shown it."""


Renew = Callable[[SignedIn], Awaitable[SignedIn]]
"""Gives a newer token; raises TokenRefusedError if there is none any more, ProviderAwayError if not now."""


class Sessions:
    """The sessions of this process, by an id of 256 random bits, which the browser's cookie holds."""

    def __init__(self, clock: Clock, renew: Renew | None = None) -> None:
        """`renew` asks the issuer, if there is one."""
        self._clock, self._renew = clock, renew
        self._open: dict[str, Session] = {}
        self._renewing: dict[str, asyncio.Lock] = {}

    def begin(self, token: str, identity: Identity, signed_in: SignedIn | None = None) -> Session:
        """A new session; of too many of one person, its oldest ends."""
        now = self._clock()
        self._make_room(identity, now)
        until = now + LIFE_MS
        if signed_in is None or signed_in.refresh_token is None:
            until = min(until, identity.expires_ms or until)
        session = Session(
            id=secrets.token_urlsafe(_BYTES),
            token=token,
            identity=identity,
            until_ms=until,
            signed_in=signed_in,
        )
        self._open[session.id] = session
        return session

    def find(self, session_id: str | None) -> Session | None:
        """The session of a cookie; None if it has ended."""
        found = self._open.get(session_id or "")
        if found is not None and found.until_ms <= self._clock():
            self.end(found.id)
            return None
        return found

    def token(self, session_id: str) -> str:
        """The token of a session as it is now; empty if it has ended."""
        found = self.find(session_id)
        return "" if found is None else found.token

    async def renewed(self, session_id: str | None) -> Session | None:
        """The session with a token that is valid for a while; None if it has ended, or the issuer ends it.

        Raises:
            ProviderAwayError: if the token has ended, and the issuer does not answer.
        """
        found = self.find(session_id)
        if found is None or not self._is_due(found):
            return found
        async with self._renewing.setdefault(found.id, asyncio.Lock()):
            found = self.find(session_id)  # another page of the session may have renewed it meanwhile
            if found is None or found.signed_in is None or not self._is_due(found):
                return found
            assert self._renew is not None
            try:
                following = await self._renew(found.signed_in)
            except TokenRefusedError:
                self.end(found.id)
                return None
            except ProviderAwayError:
                if found.signed_in.until_ms <= self._clock():
                    raise
                return found
            return self._keep(replace(found, token=following.token, signed_in=following))

    def update(self, session_id: str, identity: Identity) -> None:
        """Keep what the API says now of a session's token."""
        found = self.find(session_id)
        if found is not None:
            self._keep(replace(found, identity=identity))

    def show_once(self, session_id: str, secret: str) -> None:
        """Let one page show a secret."""
        found = self.find(session_id)
        if found is not None:
            self._keep(replace(found, shown_once=secret))

    def taken(self, session_id: str) -> str | None:
        """The secret that is to be shown, which is forgotten with this."""
        found = self.find(session_id)
        if found is None or found.shown_once is None:
            return None
        self._keep(replace(found, shown_once=None))
        return found.shown_once

    def end(self, session_id: str | None) -> None:
        """Forget a session and its token."""
        self._open.pop(session_id or "", None)
        self._renewing.pop(session_id or "", None)

    def _make_room(self, identity: Identity, now: int) -> None:
        for key in [key for key, each in self._open.items() if each.until_ms <= now]:
            self.end(key)
        own = [key for key, each in self._open.items() if each.identity.id == identity.id]
        for key in own[: max(0, len(own) - MOST_EACH + 1)]:
            self.end(key)
        if len(self._open) >= MOST_SESSIONS:
            self.end(most_crowded(self._open.values()))

    def _is_due(self, session: Session) -> bool:
        signed_in = session.signed_in
        if signed_in is None or signed_in.refresh_token is None:
            return False
        return signed_in.until_ms - self._clock() < RENEW_MS

    def _keep(self, session: Session) -> Session:
        if session.id in self._open:
            self._open[session.id] = session
        return session


def most_crowded(sessions: Collection[Session]) -> str:
    """The oldest session of the person with the most sessions, within the tenants that have the most.

    A person who makes many tokens to sign in with makes them in one tenant, and so ends only sessions there.
    """
    crowds = Counter(_crowd(each.identity) for each in sessions)
    (crowd, _), *_ = crowds.most_common(1)
    within = [each for each in sessions if _crowd(each.identity) == crowd]
    (person, _), *_ = Counter(each.identity.id for each in within).most_common(1)
    return next(each.id for each in within if each.identity.id == person)


def _crowd(identity: Identity) -> tuple[str | None, ...]:
    """People with the same tenants; all operators are one crowd, and all who have no tenant."""
    if identity.operates:
        return (None,)
    return tuple(sorted({each.tenant for each in identity.tenants} or {identity.tenant or ""}))
