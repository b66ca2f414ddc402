"""A removal that failed before it ended the member's access can be repeated until all of it has ended."""

from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from pipelines.management.api.rights.made_access import makers_last
from pipelines.management.api.rights.teams import Invitation, NoMemberError
from pipelines.management.api.rights.token_index import TokenIndex
from pipelines.management.api.rights.token_store import TokenStore
from pipelines.management.api.rights.tokens import TOKENS, Token, new_token
from shared.contracts.api_answers.access import Role
from shared.dynamodb.client import StoreError
from tests.unit.pipelines.management.api.rights.test_token_store import NOW, Items
from tests.unit.pipelines.management.api.whole_app import Client, app_over, played

MEMBER: Final = "0123456789abcdef"
PATH: Final = f"/v1/tenants/t/members/{MEMBER}"


class Table(Items):
    """Deletes some tokens, and then fails."""

    def __init__(self) -> None:
        super().__init__()
        self.left = 1_000

    def delete(self, partition: str, sort: str) -> None:
        if partition == TOKENS:
            if not self.left:
                raise StoreError("delete failed")
            self.left -= 1
        super().delete(partition, sort)


class Members:
    """The tenant's members by id, and open invitations."""

    def __init__(self) -> None:
        self.there = {MEMBER, "another"}
        self.open: list[Invitation] = []

    def remove(self, tenant: str, member_id: str, *, by_operator: bool) -> None:
        assert tenant == "t" and by_operator
        if member_id not in self.there:
            raise NoMemberError
        self.there.remove(member_id)

    def invitations(self, tenant: str, now_ms: int) -> list[Invitation]:
        del tenant, now_ms
        return list(self.open)

    def withdraw(self, tenant: str, invitation_id: str) -> bool:
        del tenant
        self.open = [each for each in self.open if each.id != invitation_id]
        return True


class Tenant:
    """A member's chain of tokens, each made with the previous one, and an invitation made with the last."""

    def __init__(self, length: int) -> None:
        self.table, self.members = Table(), Members()
        given: Any = self.table
        self.tokens = TokenStore(given, TokenIndex(given, given, given))
        maker = f"ann ({MEMBER})"
        for _ in range(length):
            maker = self.made(maker)
        self.own = self.made("bob (another)")
        self.members.open = [
            Invitation(
                id="i", tenant="t", role=Role.OWNER, label="x", made_ms=0, made_by=maker, expires_ms=NOW + 1
            )
        ]

    def made(self, by: str) -> str:
        """The signature of a token made with the one that has the given signature."""
        text, token = new_token(Role.OWNER, "t", label="x", by=by, now_ms=NOW, days=None)
        self.tokens.keep(text, token)
        return f"x ({token.id})"

    def removed(self, *queries: str) -> list[int]:
        """The statuses of a removal that is repeated."""
        found: list[int] = []

        async def scene(client: Client) -> None:
            for query in queries:
                self.table.left += 1
                found.append((await client.ask("DELETE", PATH + query)).status_code)

        parts = {"tokens": self.tokens, "members": self.members, "clock": lambda: NOW}
        played(app_over(**parts), scene)
        return found


@given(length=st.integers(0, 4))
def test_a_removal_is_repeated_until_nothing_that_the_member_made_is_left(length: int) -> None:
    tenant = Tenant(length)
    tenant.table.left = 0
    tries = [*[503] * (length - 1), 200, 404]
    assert tenant.removed(*["?revoke=true"] * len(tries)) == tries
    assert MEMBER not in tenant.members.there and not tenant.members.open
    assert [f"x ({each.id})" for each in tenant.table.kept] == [tenant.own]


def test_a_removal_without_revoke_is_not_repeated_and_ends_nothing() -> None:
    tenant = Tenant(2)
    assert tenant.removed("", "", "?revoke=false") == [200, 404, 404]
    assert len(tenant.table.kept) == 3 and tenant.members.open
    assert tenant.removed("?revoke=true") == [200]
    assert len(tenant.table.kept) == 1


@given(makers=st.lists(st.integers(0, 20), max_size=12), order=st.randoms(use_true_random=False))
def test_each_token_is_behind_all_that_it_made(makers: list[int], order: Any) -> None:
    tokens: list[Token] = []
    for maker in makers:
        by = tokens[maker % len(tokens)].id if tokens else MEMBER
        tokens.append(new_token(Role.OWNER, "t", label="x", by=f"x ({by})", now_ms=0, days=None)[1])
    order.shuffle(shuffled := list(tokens))
    seen: set[str] = set()
    for token in makers_last(shuffled):
        assert {each.id for each in tokens if each.made_by == f"x ({token.id})"} <= seen
        seen.add(token.id)
    assert len(seen) == len(tokens)
