"""A tenant has 200 open invitations at most, and handling them reads no items of other tenants."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from pipelines.management.api.rights.callers import Person
from pipelines.management.api.rights.invitation_items import InvitationItems
from pipelines.management.api.rights.member_store import MemberStore
from pipelines.management.api.rights.teams import MOST_INVITATIONS, Invitation, TeamError
from pipelines.management.api.rights.tokens import digest
from shared.contracts.api_answers.access import Role
from shared.contracts.envelope import DAY_MS
from shared.contracts.member_items import INVITATION_IDS, INVITATIONS, MEMBERS, TENANTS
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.item_store import ItemStore
from tests.harness.recorded_store import RecordedStore, recorded_store

NOW = 1_000
AT_ONCE = 6


Place = tuple[str, str]
"""A table, and its store's URL."""


@pytest.fixture
def place(dynamodb_local: str) -> Place:
    table = f"documents-{uuid4().hex}"
    DocumentTable(table, dynamodb_local).ensure()
    return table, dynamodb_local


@pytest.fixture
def recorded(dynamodb_local: str) -> Iterator[tuple[Place, RecordedStore]]:
    with recorded_store(dynamodb_local) as store:
        table = f"documents-{uuid4().hex}"
        DocumentTable(table, store.url).ensure()
        yield (table, store.url), store


def invite(store: MemberStore, tenant: str, now_ms: int = NOW) -> tuple[str, Invitation]:
    return store.invite(tenant, Role.VIEWER, label="x", by="x", now_ms=now_ms, days=1)


def fill(place: Place, tenant: str, count: int) -> None:
    """Give the tenant this many open invitations."""
    items, kept = ItemStore(*place, Invitation), InvitationItems(*place)
    for number in range(count):
        name = f"{number:016x}"
        each = Invitation(
            id=name, tenant=tenant, role=Role.VIEWER, label="x", made_ms=0, made_by="x", expires_ms=NOW * 2
        )
        assert items.transact(kept.added(name, each))


def left(place: Place, partition: str) -> int:
    """Number of items in a partition."""
    return len(ItemStore(*place, dict if partition == INVITATIONS else str).all(partition))


def invites(store: MemberStore, tenant: str) -> bool:
    """Whether another invitation was made."""
    try:
        invite(store, tenant)
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


@pytest.mark.parametrize("others", [0, 20])
def test_making_listing_and_withdrawing_read_no_invitations_of_other_tenants(
    recorded: tuple[Place, RecordedStore], others: int
) -> None:
    place, asked = recorded
    store = MemberStore(*place)
    for number in range(others):
        invite(store, f"t{number}")
    invite(store, "acme")
    asked.taken()
    _, made = invite(store, "acme")
    listed = [("Query", INVITATION_IDS), ("BatchGetItem", "")]
    assert asked.taken() == [
        ("PutItem", TENANTS),
        ("GetItem", TENANTS),
        ("GetItem", MEMBERS),
        *listed,
        ("TransactWriteItems", ""),
    ]
    assert made in store.invitations("acme", NOW)
    assert asked.taken() == listed
    assert store.withdraw("acme", made.id)
    assert asked.taken() == [
        ("GetItem", INVITATION_IDS),
        ("GetItem", INVITATIONS),
        ("TransactWriteItems", ""),
    ]


def test_an_invitation_that_was_redeemed_or_withdrawn_leaves_nothing(place: Place) -> None:
    store = MemberStore(*place)
    ann = Person(id="ann", label="ann", issuer="https://issuer", subject="ann", expires_ms=NOW * 2)
    texts = [invite(store, "acme")[0] for _ in range(2)]
    assert store.admit(texts[0], ann, NOW) is not None
    assert store.admit_holder(texts[1], NOW) is not None
    _, withdrawn = invite(store, "acme")
    assert (store.withdraw("acme", withdrawn.id), store.withdraw("acme", withdrawn.id)) == (True, False)
    assert (left(place, INVITATIONS), left(place, INVITATION_IDS)) == (0, 0)


def test_an_expired_invitation_is_deleted_once_it_is_met(place: Place) -> None:
    store, later = MemberStore(*place), NOW + DAY_MS
    text, _ = invite(store, "acme")
    invite(store, "other")
    _, kept = invite(store, "other", later)
    assert store.open_invitation(text, later) is None
    assert store.invitations("other", later) == [kept]
    assert (left(place, INVITATIONS), left(place, INVITATION_IDS)) == (1, 1)


def test_an_invitation_of_an_older_version_can_be_redeemed(place: Place) -> None:
    store, text = MemberStore(*place), "hifi_invite_old"
    _, made = invite(store, "acme")
    ItemStore(*place, Invitation).put(INVITATIONS, digest(text), made)
    found = store.admit_holder(text, NOW)
    assert found is not None and store.role("acme", found[1].id) is Role.VIEWER


@pytest.mark.parametrize("invitation_id", ["", "x" * 2_000, "0123456789abcde/", "\U0001f600" * 16])
def test_what_is_no_id_is_not_found(place: Place, invitation_id: str) -> None:
    assert not MemberStore(*place).withdraw("acme", invitation_id)
