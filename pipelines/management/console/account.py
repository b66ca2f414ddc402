"""The management API as one session's token sees it."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from http import HTTPStatus
from typing import TypeVar

from msgspec import Raw

from pipelines.management.console.api_client import ApiClient, Document, ProblemError, if_match, path_of
from pipelines.management.console.dead_letter_query import LetterQuery
from pipelines.management.console.session import Identity
from shared.contracts.api_answers.access import (
    ChangedMember,
    InvitationView,
    LeftAccess,
    MemberView,
    NewInvitation,
    NewKey,
    Redeemed,
)
from shared.contracts.api_answers.dead_letters import LetterPage, ReplayCounts, WholeLetter
from shared.contracts.api_answers.documents import (
    Connector,
    NewestSummary,
    NewestVersion,
    TenantEntry,
    Version,
    VersionSummary,
    WrittenVersion,
)
from shared.contracts.api_answers.pages import Page
from shared.contracts.api_answers.previews import Preview
from shared.contracts.live_tail import Message, MessageReader
from shared.contracts.sides import Sides
from shared.contracts.write_keys import WriteKey

T = TypeVar("T")
LETTERS_SHOWN = "50"
SHOWN = "100"
"""Documents, versions or tenants on a page."""

_READ = "200"
MOST_NAMES = 2_000
"""Documents that a field lets a person choose from."""


class Account:
    """The API with one session's token, as it is at each request."""

    def __init__(self, client: ApiClient, bearer: Callable[[], str]) -> None:
        self._client, self._bearer = client, bearer

    @property
    def _token(self) -> str:
        return self._bearer()

    async def identity(self) -> Identity:
        """The person or token that is signed in, and its tenants now."""
        return await self._client.whoami(self._token)

    async def members(self, tenant: str) -> list[MemberView]:
        """A tenant's members, the longest there first."""
        return await self._client.whole(self._token, path_of("tenants", tenant, "members"), MemberView)

    async def set_role(self, tenant: str, member: str, role: str, *, revoke: bool) -> ChangedMember:
        """Give a member another role; what it had made above that, which ends with `revoke`."""
        path = path_of("tenants", tenant, "members", member) + ("?revoke=true" if revoke else "")
        answer = await self._client.send(self._token, "PUT", path, {"role": role})
        return ApiClient.decoded(answer, ChangedMember)

    async def remove_member(self, tenant: str, member: str, *, revoke: bool) -> LeftAccess:
        """Remove a member, at once; what it had made, which ends as well with `revoke`."""
        path = path_of("tenants", tenant, "members", member) + ("?revoke=true" if revoke else "")
        return ApiClient.decoded(await self._client.send(self._token, "DELETE", path), LeftAccess)

    async def invitations(self, tenant: str) -> list[InvitationView]:
        """A tenant's open invitations."""
        return await self._client.whole(
            self._token, path_of("tenants", tenant, "invitations"), InvitationView
        )

    async def invite(self, tenant: str, role: str, label: str, days: float) -> str:
        """The text of a new invitation."""
        path = path_of("tenants", tenant, "invitations")
        answer = await self._client.send(
            self._token, "POST", path, {"role": role, "label": label, "days": days}
        )
        return ApiClient.decoded(answer, NewInvitation).invitation

    async def withdraw(self, tenant: str, invitation: str) -> None:
        """Withdraw an invitation."""
        path = path_of("tenants", tenant, "invitations", invitation)
        await self._client.send(self._token, "DELETE", path)

    async def redeem(self, invitation: str) -> Redeemed:
        """Become a member."""
        return await self._client.redeem(self._token, invitation)

    async def make_tenant(self, tenant: str) -> None:
        """Make a tenant; nothing if there is one of that name."""
        await self._client.send(self._token, "PUT", path_of("tenants", tenant))

    async def tenants(self, cursor: str) -> Page[TenantEntry]:
        """A page of the tenants there are, by name; none if the API does not say."""
        read = self._client.page(self._token, path_of("tenants"), TenantEntry, limit=SHOWN, cursor=cursor)
        return await self._if_there(read) or Page(items=[])

    async def sides(self) -> Sides:
        """Both sides and their releases, for operators."""
        return await self._client.get(self._token, path_of("sides"), Sides)

    async def connectors(self) -> list[Connector]:
        """The connectors with their options; none if the API does not say."""
        return await self._if_there(self._client.whole(self._token, path_of("connectors"), Connector)) or []

    async def _if_there(self, read: Awaitable[T]) -> T | None:
        try:
            return await read
        except ProblemError as error:
            if error.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS):
                raise
            return None

    async def documents(self, tenant: str, kind: str, cursor: str, limit: str = SHOWN) -> Page[NewestSummary]:
        """A page of a tenant's documents of a kind (in the plural), by name."""
        path = path_of("tenants", tenant, kind)
        return await self._client.page(
            self._token, path, NewestSummary, brief="true", limit=limit, cursor=cursor
        )

    async def names(self, tenant: str, kind: str) -> list[str] | None:
        """The names of all documents of a kind; None if there are too many to choose from."""
        found: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            if len(found) >= MOST_NAMES:
                return None
            page = await self.documents(tenant, kind, cursor, limit=_READ)
            found += [each.name for each in page.items]
            cursor = page.next
        return found

    async def document(self, tenant: str, kind: str, name: str) -> NewestVersion:
        """One document."""
        return await self._client.get(self._token, path_of("tenants", tenant, kind, name), NewestVersion)

    async def put(
        self, tenant: str, kind: str, name: str, document: Document, condition: Mapping[str, str]
    ) -> WrittenVersion:
        """Write a document under a condition."""
        path = path_of("tenants", tenant, kind, name)
        answer = await self._client.send(self._token, "PUT", path, document, condition)
        return ApiClient.decoded(answer, WrittenVersion)

    async def delete(self, tenant: str, kind: str, name: str, version: int) -> None:
        """Delete a document that is at a version."""
        path = path_of("tenants", tenant, kind, name)
        await self._client.send(self._token, "DELETE", path, headers=if_match(version))

    async def history(
        self, tenant: str, kind: str, name: str, cursor: str, limit: str = SHOWN
    ) -> Page[VersionSummary]:
        """A page of its versions, newest first."""
        path = path_of("tenants", tenant, kind, name, "history")
        return await self._client.page(
            self._token, path, VersionSummary, brief="true", limit=limit, cursor=cursor
        )

    async def version(self, tenant: str, kind: str, name: str, version: int) -> Version:
        """One of its versions."""
        path = path_of("tenants", tenant, kind, name, "history", str(version))
        return await self._client.get(self._token, path, Version)

    async def revert(
        self, tenant: str, kind: str, name: str, version: int, condition: Mapping[str, str]
    ) -> None:
        """Make a document what it was at a version, under a condition."""
        path = path_of("tenants", tenant, kind, name, "revert")
        await self._client.send(self._token, "POST", path, {"version": version}, condition)

    async def lead(self, tenant: str, pipe: str, action: str) -> None:
        """Pause, resume, take back or finish the rollout of a pipe."""
        path = path_of("tenants", tenant, "pipes", pipe, "rollout")
        await self._client.send(self._token, "POST", path, {"action": action})

    async def keys(self, tenant: str, source: str) -> list[WriteKey]:
        """The write keys of a source."""
        return await self._client.whole(
            self._token, path_of("tenants", tenant, "sources", source, "keys"), WriteKey
        )

    async def add_key(self, tenant: str, source: str, label: str) -> str:
        """A new write key."""
        path = path_of("tenants", tenant, "sources", source, "keys")
        answer = await self._client.send(self._token, "POST", path, {"label": label})
        return ApiClient.decoded(answer, NewKey).key

    async def remove_key(self, tenant: str, source: str, key_id: str) -> None:
        """Remove a write key."""
        path = path_of("tenants", tenant, "sources", source, "keys", key_id)
        await self._client.send(self._token, "DELETE", path)

    async def dead_letters(self, tenant: str, query: LetterQuery) -> LetterPage:
        """A page of the newest dead letters."""
        path = path_of("tenants", tenant, "dead-letters") + query.text(limit=LETTERS_SHOWN)
        return await self._client.get(self._token, path, LetterPage)

    async def dead_letter(self, tenant: str, partition: str, offset: str) -> WholeLetter:
        """One with its event."""
        path = path_of("tenants", tenant, "dead-letters", partition, offset)
        return await self._client.get(self._token, path, WholeLetter)

    async def replay(self, tenant: str, letters: Sequence[str], *, dry_run: bool) -> ReplayCounts:
        """Replay dead letters, or count those that would be."""
        path = path_of("tenants", tenant, "dead-letters", "replay")
        asked = {"letters": list(letters)}
        answer = await self._client.send(
            self._token, "POST", path + ("?dry_run=true" if dry_run else ""), asked
        )
        return ApiClient.decoded(answer, ReplayCounts)

    async def preview(self, tenant: str, pipe: Document, event: Raw) -> Preview:
        """The result of trying an event of JSON on a pipe, which need not be saved."""
        path = path_of("tenants", tenant, "try")
        answer = await self._client.send(self._token, "POST", path, {"event": event, "pipe": pipe})
        (found,) = ApiClient.decoded(answer, Page[Preview]).items
        return found

    async def tail(self, tenant: str, pipe: str) -> AsyncGenerator[Message | None, None]:
        """The messages of a live tail; None for a sign of life."""
        reader = MessageReader()
        path = path_of("tenants", tenant, "pipes", pipe, "tail")
        async with aclosing(self._client.stream(self._token, path)) as parts:
            async for part in parts:
                yield None
                for message in reader.feed(part):
                    yield message
