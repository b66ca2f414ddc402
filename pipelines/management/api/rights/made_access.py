"""Access that outlives the member who made it, or the member's role: tokens and invitations.

Tokens and invitations are the tenant's: a removal that ended them by itself would stop programs that others
depend on. So the caller who removes a member sees what lives on, and may end it in the same request.
"""

from collections.abc import Collection, Iterable

from pipelines.management.api.rights.member_store import MemberStore
from pipelines.management.api.rights.permissions import may_grant
from pipelines.management.api.rights.teams import Invitation
from pipelines.management.api.rights.token_store import TokenStore
from pipelines.management.api.rights.tokens import Token, is_expired
from shared.contracts.api_answers.access import LeftAccess, Role


class MadeAccess(LeftAccess, frozen=True, kw_only=True):
    """Tokens and invitations that a member made, directly or by tokens that it made."""

    tokens: list[Token]
    invitations: list[Invitation]


class MadeAccessFinder:
    """May be used from any thread; raises StoreError."""

    def __init__(self, tokens: TokenStore, members: MemberStore) -> None:
        self._tokens, self._members = tokens, members

    def made_by(self, tenant: str, member_id: str, role: Role | None, now_ms: int) -> MadeAccess:
        """Access that a member made above `role`, its role now; all of it for None, a former member."""
        tokens = self._tokens.of(tenant, now_ms)
        makers = makers_of(member_id, tokens)
        return MadeAccess(
            tokens=[
                each
                for each in tokens
                if _is_of(each.made_by, makers) and _above(each.role, role) and not is_expired(each, now_ms)
            ],
            invitations=[
                each
                for each in self._members.invitations(tenant, now_ms)
                if _is_of(each.made_by, makers) and _above(each.role, role)
            ],
            revoked=False,
        )

    def has_made(self, tenant: str, member_id: str, now_ms: int) -> bool:
        """Whether anything that a former member made still gives access."""
        found = self.made_by(tenant, member_id, None, now_ms)
        return bool(found.tokens or found.invitations)

    def end(self, tenant: str, found: MadeAccess, now_ms: int) -> None:
        """Withdraw the invitations and revoke the tokens, at once.

        What a token made before the token, so that a request that fails in between finds the rest when it is
        repeated.
        """
        for invitation in found.invitations:
            self._members.withdraw(tenant, invitation.id)
        for token in makers_last(found.tokens):
            self._tokens.revoke(tenant, token.id, now_ms)


def makers_of(member_id: str, tokens: Iterable[Token]) -> frozenset[str]:
    """The member's id, and those of the tokens that it made, directly or by one of them."""
    found, left = {member_id}, list(tokens)
    while made := [each for each in left if _is_of(each.made_by, found)]:
        found |= {each.id for each in made}
        left = [each for each in left if each.id not in found]
    return frozenset(found)


def makers_last(tokens: Iterable[Token]) -> list[Token]:
    """Tokens, each behind those that it made."""
    ordered: list[Token] = []
    left = list(tokens)
    while left:
        made_none = [each for each in left if not any(_is_of(other.made_by, (each.id,)) for other in left)]
        ordered += made_none or left  # none makes itself; whatever the table holds, this ends
        left = [each for each in left if each not in ordered]
    return ordered


def _is_of(signature: str, makers: Collection[str]) -> bool:
    """Whether one of the makers signed: the id is what the last parentheses hold, whatever the label is."""
    return signature.rpartition(" (")[2].removesuffix(")") in makers


def _above(role: Role, had: Role | None) -> bool:
    return had is None or not may_grant(had, role)
