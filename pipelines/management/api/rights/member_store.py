"""Members and invitations in the table: every change is one transaction on exactly what was read."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from pipelines.management.api.rights.callers import Person
from pipelines.management.api.rights.invitation_items import InvitationItems
from pipelines.management.api.rights.teams import (
    MOST_INVITATIONS,
    Invitation,
    Member,
    Membership,
    Team,
    TeamError,
    joined,
    with_role,
    without,
)
from pipelines.management.api.rights.tokens import TOKENS, Token, digest, new_token
from shared.contracts.api_answers.access import Role
from shared.contracts.envelope import DAY_MS
from shared.contracts.member_items import MEMBERS, TENANTS, memberships_partition
from shared.dynamodb.client import StoreError
from shared.dynamodb.item_store import ItemStore

T = TypeVar("T")
INVITATION_PREFIX: Final = "hifi_invite_"
_BYTES: Final = 32
_TRIES: Final = 12


class _OvertakenError(Exception):
    """Another write came in between: read again."""


class TenantRecord(Struct, frozen=True, kw_only=True):
    """A tenant that an operator made."""

    made_ms: int
    made_by: str


class MemberStore:
    """May be used from any thread; raises StoreError."""

    def __init__(self, table: str, endpoint: str | None) -> None:
        """`endpoint` is the URL of DynamoDB Local; None is AWS."""
        self._teams = ItemStore(table, endpoint, Team)
        self._roles = ItemStore(table, endpoint, str)
        self._invitations = InvitationItems(table, endpoint)
        self._tenants = ItemStore(table, endpoint, TenantRecord)
        self._tokens = ItemStore(table, endpoint, Token)

    def make_tenant(self, tenant: str, record: TenantRecord) -> TenantRecord | None:
        """The record of a tenant that there was already; None if it is made by this."""
        if self._tenants.put_after(TENANTS, tenant, record, 0):
            return None
        return self._tenants.get(TENANTS, tenant) or record

    def tenants(self) -> list[str]:
        """The tenants that operators made."""
        return [name for name, _ in self._tenants.all(TENANTS)]

    def team(self, tenant: str) -> Team:
        """A tenant's members."""
        return self._teams.get(MEMBERS, tenant) or Team()

    def role(self, tenant: str, member_id: str) -> Role | None:
        """A member's role; None if it is not a member."""
        found = self.team(tenant).members.get(member_id)
        return None if found is None else found.role

    def memberships(self, member_id: str) -> list[Membership]:
        """The tenants that a person is a member of, by name, with the role in each."""
        tenants = [name for name, _ in self._roles.all(memberships_partition(member_id))]
        found = ((tenant, self.role(tenant, member_id)) for tenant in tenants)
        return [Membership(tenant, role) for tenant, role in found if role is not None]

    def invite(  # noqa: PLR0913  # the columns
        self, tenant: str, role: Role, *, label: str, by: str, now_ms: int, days: float
    ) -> tuple[str, Invitation]:
        """A new invitation: its text, which is kept nowhere, and what is.

        It is a revision of the team, so that of several at once each counts those before it.

        Raises:
            TeamError: if too many are open.
        """
        text = INVITATION_PREFIX + secrets.token_urlsafe(_BYTES)
        invitation = Invitation(
            id=secrets.token_hex(8),
            tenant=tenant,
            role=role,
            label=label,
            made_ms=now_ms,
            made_by=by,
            expires_ms=now_ms + int(days * DAY_MS),
        )
        self._tenants.put_after(TENANTS, tenant, TenantRecord(made_ms=now_ms, made_by=by), 0)

        def change() -> None:
            team = self.team(tenant)  # before they are counted: one that comes in between fails the write
            self._refuse_one_more(tenant, now_ms)
            after = replace(team, revision=team.revision + 1)
            self._write([self._team_part(tenant, after), *self._invitations.added(digest(text), invitation)])

        self._until_alone(change)
        return text, invitation

    def invitations(self, tenant: str, now_ms: int) -> list[Invitation]:
        """A tenant's open invitations in order of their ids."""
        return sorted(self._invitations.open_of(tenant, now_ms), key=lambda each: each.id)

    def withdraw(self, tenant: str, invitation_id: str) -> bool:
        """Delete an invitation; False if there is none of that id."""

        def change() -> bool:
            found = self._invitations.one(tenant, invitation_id)
            if found is not None:
                self._write(self._invitations.removed(*found))
            return found is not None

        return self._until_alone(change)

    def open_invitation(self, text: str, now_ms: int) -> Invitation | None:
        """The invitation with this text; None if there is none, or it has expired."""
        return self._invitations.open(digest(text), now_ms)

    def admit(self, text: str, person: Person, now_ms: int) -> Membership | None:
        """Make a person a member; None if the invitation is not open.

        Raises:
            TeamError: if the team is full.
        """

        def member(invitation: Invitation) -> Member:
            return Member(
                id=person.id,
                role=invitation.role,
                label=person.label,
                since_ms=now_ms,
                invited_by=invitation.made_by,
                issuer=person.issuer,
                subject=person.subject,
            )

        def change() -> Membership | None:
            invitation = self.open_invitation(text, now_ms)
            if invitation is None:
                return None
            team = joined(self.team(invitation.tenant), member(invitation))
            self._write(list(self._admission(text, invitation, person.id, team)))
            return Membership(invitation.tenant, team.members[person.id].role)

        return self._until_alone(change)

    def admit_holder(self, text: str, now_ms: int) -> tuple[str, Token] | None:
        """Make who holds an invitation a member with a personal token; raises and answers as `admit` does."""

        def change() -> tuple[str, Token] | None:
            found = self.open_invitation(text, now_ms)
            if found is None:
                return None
            secret, made = new_token(
                found.role, found.tenant, label=found.label, by=found.made_by, now_ms=now_ms, days=None
            )
            key, token = digest(secret), replace(made, member=True)
            member = Member(
                id=made.id,
                role=found.role,
                label=found.label,
                since_ms=now_ms,
                invited_by=found.made_by,
                token_key=key,
            )
            team = joined(self.team(found.tenant), member)
            parts = self._admission(text, found, made.id, team)
            self._write([*parts, self._tokens.written(TOKENS, key, token)])
            return secret, token

        return self._until_alone(change)

    def change_role(self, tenant: str, member_id: str, role: Role, *, by_operator: bool) -> Member:
        """A member with another role.

        Raises:
            NoMemberError: if that is not a member.
            TeamError: if no owner would be left.
        """

        def change() -> Member:
            team = with_role(self.team(tenant), member_id, role, by_operator=by_operator)
            self._write([self._team_part(tenant, team)])
            return team.members[member_id]

        return self._until_alone(change)

    def remove(self, tenant: str, member_id: str, *, by_operator: bool) -> None:
        """Remove a member, and the personal token if that is what it had; raises as `change_role` does."""

        def change() -> None:
            before = self.team(tenant)
            after = without(before, member_id, by_operator=by_operator)
            key = before.members[member_id].token_key
            parts = [
                self._team_part(tenant, after),
                self._roles.removed(memberships_partition(member_id), tenant),
                *([] if key is None else [self._tokens.removed(TOKENS, key)]),
            ]
            self._write(parts)

        self._until_alone(change)

    def _refuse_one_more(self, tenant: str, now_ms: int) -> None:
        """Raise TeamError if as many invitations are open as may be."""
        if len(self._invitations.open_of(tenant, now_ms)) >= MOST_INVITATIONS:
            raise TeamError(f"{MOST_INVITATIONS} invitations are open, which is the most; withdraw one first")

    def _admission(
        self, text: str, invitation: Invitation, member_id: str, team: Team
    ) -> Iterator[dict[str, Any]]:
        """The invitation is used up in the same transaction: it admits one, once."""
        yield from self._invitations.removed(digest(text), invitation)
        yield self._team_part(invitation.tenant, team)
        yield self._roles.written(memberships_partition(member_id), invitation.tenant, "")

    def _team_part(self, tenant: str, team: Team) -> dict[str, Any]:
        return self._teams.revised(MEMBERS, tenant, team, team.revision - 1)

    def _write(self, parts: Sequence[Mapping[str, Any]]) -> None:
        if not self._teams.transact(parts):
            raise _OvertakenError

    @staticmethod
    def _until_alone(change: Callable[[], T]) -> T:
        for _ in range(_TRIES):
            try:
                return change()
            except _OvertakenError:
                continue
        raise StoreError(f"other writes to the members came in between at each of {_TRIES} tries")
