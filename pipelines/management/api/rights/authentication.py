"""Finds the caller of a bearer token and its role in a tenant, from the table and perhaps the issuer."""

from typing import Final

from pipelines.management.api.requests import is_name
from pipelines.management.api.rights.callers import Caller, ClaimNames, Person, person_of, roles_of
from pipelines.management.api.rights.member_store import MemberStore
from pipelines.management.api.rights.permissions import higher
from pipelines.management.api.rights.teams import Membership
from pipelines.management.api.rights.token_store import TokenStore
from pipelines.management.api.rights.tokens import PREFIX, Token
from shared.contracts.api_answers.access import Role
from shared.oidc.errors import TokenRefusedError
from shared.oidc.verifier import MOST_TOKEN, Verifier
from shared.runtime.clock import Clock

_MOST_OWN: Final = 256
Holder = Token | Person


class Authentication:
    """May be asked from any thread; raises StoreError."""

    def __init__(
        self,
        tokens: TokenStore,
        members: MemberStore,
        issuer: tuple[Verifier, ClaimNames] | None,
        clock: Clock,
    ) -> None:
        """Know callers by hifi's tokens and, with an `issuer`, by the tokens of its people."""
        self._tokens, self._members, self._clock = tokens, members, clock
        self._issuer = issuer

    @property
    def signs_people_in(self) -> bool:
        """Whether there is an issuer."""
        return self._issuer is not None

    def holder(self, bearer: str) -> Holder | None:
        """The holder of a bearer; None if it is not a valid token of hifi.

        Raises:
            TokenRefusedError: if it is not a valid token of the issuer.
            ProviderAwayError: if that cannot be found out now.
        """
        if self._issuer is None or bearer.startswith(PREFIX):
            return self._tokens.find(bearer, self._clock()) if 0 < len(bearer) <= _MOST_OWN else None
        if bearer.count(".") != 2 or len(bearer) > MOST_TOKEN:
            raise TokenRefusedError("it is neither a token of hifi nor one of the issuer")
        verifier, names = self._issuer
        return person_of(verifier.verify(bearer), names)

    def caller(self, holder: Holder, target: str | None) -> Caller | None:
        """The holder with its role in a tenant, or without one its highest; None if it was removed."""
        if isinstance(holder, Person):
            return self._person(holder, target)
        role: Role | None = holder.role
        if holder.member and holder.tenant is not None:
            role = self._members.role(holder.tenant, holder.id)
        if role is None:
            return None
        return Caller(
            id=holder.id,
            label=holder.label,
            role=role,
            tenant=holder.tenant,
            expires_ms=holder.expires_ms,
            last_four=holder.last_four,
        )

    def memberships(self, caller: Caller) -> list[Membership]:
        """The tenants that a caller has a role in."""
        if caller.person is not None:
            found = self._roles(caller.person)
            return [Membership(tenant, found[tenant]) for tenant in sorted(found)]
        if caller.tenant is None or caller.role is None:
            return []
        return [Membership(caller.tenant, caller.role)]

    def _person(self, person: Person, target: str | None) -> Caller:
        role = Role.OPERATOR if person.operator else None
        tenant, stranger = None, False
        if role is None and target is not None and is_name(target):  # the table takes no key of any length
            role = self._role(person, target)
            tenant = target if role is not None else None
        if role is None:
            roles = self._roles(person)
            stranger = not roles
            if target is None and roles:
                role = max(roles.values(), key=list(Role).index)
        return Caller(
            id=person.id,
            label=person.label,
            role=role,
            tenant=tenant,
            expires_ms=person.expires_ms,
            person=person,
            stranger=stranger,
        )

    def _role(self, person: Person, tenant: str) -> Role | None:
        member, granted = self._members.role(tenant, person.id), person.granted.get(tenant)
        return granted if member is None else member if granted is None else higher(member, granted)

    def _roles(self, person: Person) -> dict[str, Role]:
        found = {each.tenant: each.role for each in self._members.memberships(person.id)}
        return roles_of(person, found)
