"""A tenant has 200 open invitations at most, however many are made at once and in whatever process."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from pipelines.management.api.rights.member_store import MemberStore
from pipelines.management.api.rights.teams import MOST_INVITATIONS, Invitation, TeamError
from shared.contracts.api_answers.access import Role
from shared.contracts.member_items import INVITATIONS
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.item_store import ItemStore

NOW = 1_000
AT_ONCE = 6


Place = tuple[str, str]
"""A table, and its store's URL."""


@pytest.fixture
def place(dynamodb_local: str) -> Place:
    table = f"documents-{uuid4().hex}"
    DocumentTable(table, dynamodb_local).ensure()
    return table, dynamodb_local


def fill(place: Place, tenant: str, count: int) -> None:
    """Let the tenant have so many open invitations."""
    items = ItemStore(*place, Invitation)
    for number in range(count):
        name = f"{tenant}-{number}"
        each = Invitation(
            id=name, tenant=tenant, role=Role.VIEWER, label="x", made_ms=0, made_by="x", expires_ms=NOW * 2
        )
        items.put(INVITATIONS, name, each)


def invites(store: MemberStore, tenant: str) -> bool:
    """Whether one more was made."""
    try:
        store.invite(tenant, Role.VIEWER, label="x", by="x", now_ms=NOW, days=1)
    except TeamError:
        return False
    return True


def test_of_several_at_once_only_those_that_fit_are_made_and_the_rest_are_refused(place: Place) -> None:
    tenant, free = f"t{uuid4().hex[:8]}", 2
    stores = [MemberStore(*place) for _ in range(AT_ONCE)]
    fill(place, tenant, MOST_INVITATIONS - free)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = list(pool.map(invites, stores, [tenant] * AT_ONCE))
    assert sum(made) == free
    open_now = stores[0].invitations(tenant, NOW)
    assert len(open_now) == MOST_INVITATIONS
    assert stores[0].withdraw(tenant, open_now[0].id)
    assert invites(stores[0], tenant) and not invites(stores[0], tenant)
