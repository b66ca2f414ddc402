"""Pages of a list that changes meanwhile."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.management.api import requests, views
from pipelines.management.api.key_notes import KeyNotes
from pipelines.management.api.problems import ProblemError
from pipelines.management.api.requests import Place
from pipelines.management.api.rights.teams import Invitation, Member, Team
from pipelines.management.api.source_keys import SourceKeys
from shared.contracts.api_answers.access import Role
from shared.contracts.documents import key_digest
from tests.harness.document_changes import change_of
from tests.unit.pipelines.management.api.one_document import KEY, OneDocument, documents_in, source
from tests.unit.pipelines.management.api.whole_app import Client, app_over, played

NAMES = "abcd"
PLACES = st.tuples(st.integers(0, 10**13), st.text("0123456789abcdef", min_size=16, max_size=16))


def page(items: list[Place], limit: int, cursor: str | None) -> tuple[list[Place], str | None]:
    found, following = views.page_of(items, lambda each: each, str(limit), cursor)
    return list(found), requests.cursor_of(following)


@given(st.lists(PLACES, unique=True, max_size=12), st.integers(1, 5), st.data())
def test_the_next_page_has_what_is_left_after_the_former_one(
    items: list[Place], limit: int, data: st.DataObject
) -> None:
    first, following = page(items, limit, None)
    assert first == sorted(items)[:limit]
    assert (following is None) == (len(items) <= limit)
    if following is not None:
        gone = data.draw(st.sets(st.sampled_from(items)))
        left = [each for each in items if each not in gone]
        assert page(left, 200, following) == (sorted(each for each in left if each > first[-1]), None)


@pytest.mark.parametrize(
    "text", ["", "abc", "000000000000007", "000000000000007.", "7.ab", "00000000000000x.ab"]
)
def test_a_cursor_that_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(ProblemError, match="give `next` of the former answer as it is") as refused:
        requests.after_place(requests.cursor_of(text))
    assert refused.value.status == 400


class NoNotes:
    """Rows of keys that documents brought; there are none."""

    @staticmethod
    def all(*_: Any) -> list[Any]:
        return []


def keys_of(table: OneDocument) -> SourceKeys:
    nothing: Any = NoNotes()
    return SourceKeys(documents_in(table), KeyNotes(nothing, nothing, lambda: 7))


def asked_in_pages(path: str, between: Any = lambda: None, **parts: Any) -> list[str]:
    """The ids on pages of one item each; `between` runs after the first page."""
    found: list[str] = []

    async def scene(client: Client) -> None:
        async with asyncio.timeout(60):
            answer = await client.ask("GET", f"{path}?limit=1")
            between()
            while True:
                assert answer.status_code == 200, answer.text
                found.extend(each["id"] for each in answer.json()["items"])
                if answer.json()["next"] is None or len(found) > 10:
                    return
                answer = await client.ask("GET", f"{path}?limit=1&cursor={answer.json()['next']}")

    played(app_over(**parts), scene)
    return found


def test_pages_of_keys_go_on_after_a_key_that_was_removed() -> None:
    digests = sorted(map(key_digest, NAMES))
    table = OneDocument(source(*digests))
    ids = [each[7:23] for each in digests]

    def removed() -> None:
        table.write("t", [change_of(source(*digests[1:]))])

    path = f"/v1/tenants/t/sources/{KEY.name}/keys"
    assert asked_in_pages(path, removed, source_keys=keys_of(table)) == ids


def test_pages_of_keys_end_though_a_source_from_before_has_one_twice() -> None:
    first, second = sorted(map(key_digest, "ab"))
    keys = keys_of(OneDocument(source(first, second, first)))
    assert asked_in_pages(f"/v1/tenants/t/sources/{KEY.name}/keys", source_keys=keys) == [
        first[7:23],
        second[7:23],
    ]


def test_pages_of_members_and_invitations_go_on_after_one_that_was_removed() -> None:
    members = {
        f"{name}0": Member(id=f"{name}0", role=Role.VIEWER, label=name, since_ms=9, invited_by="x")
        for name in NAMES
    }
    open_now = [
        Invitation(
            id=f"{name}1", tenant="t", role=Role.VIEWER, label=name, made_ms=9, made_by="x", expires_ms=99
        )
        for name in NAMES
    ]
    store = SimpleNamespace(team=lambda _: Team(members=dict(members)), invitations=lambda *_: list(open_now))
    first = dict(members), list(open_now)
    assert asked_in_pages("/v1/tenants/t/members", lambda: members.pop("a0"), members=store) == list(first[0])
    assert asked_in_pages("/v1/tenants/t/invitations", lambda: open_now.pop(0), members=store) == [
        each.id for each in first[1]
    ]
