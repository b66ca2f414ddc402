"""The progress of each document on a side."""

import pytest

from pipelines.control.provision.status import forgettable, judged
from shared.contracts.document_items import KEPT_MS, DocumentKey, StoredDocument
from shared.contracts.document_status import GONE_MS, DocumentStatus, State, current
from shared.contracts.documents import Destination, Document, Entry, Source
from shared.contracts.publish_plan import document_key

DESTINATION = Destination(name="x", tenant="acme")
SOURCE = Source(name="x", tenant="acme", write_keys=["sha256:00"])


NOW_MS = 1_800_000_000_000
SAID = DocumentStatus(state=State.IN_FORCE, version=1, since_ms=5)
OLD = DocumentStatus(state=State.IN_FORCE, version=0, since_ms=5)


def stored(document: Document | None, version: int = 2, kind: str = "destination") -> StoredDocument:
    return StoredDocument(
        tenant="acme", key=DocumentKey(kind, "x"), version=version, document=document, by="ann", at_ms=1
    )


def entry(document: Document, version: int) -> dict[bytes, Entry]:
    return {document_key(document): Entry(version=version, document=document)}


@pytest.mark.parametrize(
    ("wanted", "topic", "state"),
    [
        (stored(DESTINATION), {}, State.PENDING),
        (stored(DESTINATION), entry(DESTINATION, 1), State.PENDING),
        (stored(DESTINATION), entry(DESTINATION, 2), State.PUBLISHED),
        (stored(DESTINATION), entry(Destination(name="x", tenant="zoo"), 2), State.PENDING),
        (stored(None), entry(DESTINATION, 1), State.PENDING),
        (stored(None), {}, State.PUBLISHED),
        (stored(None), entry(Destination(name="x", tenant="zoo"), 2), State.PUBLISHED),
        (stored(SOURCE, kind="source"), {}, State.HELD),
        (stored(SOURCE, kind="source"), entry(SOURCE, 1), State.PENDING),
    ],
)
def test_a_version_is_published_when_the_topic_holds_just_it(
    wanted: StoredDocument, topic: dict[bytes, Entry], state: State
) -> None:
    (found,) = judged([wanted], topic, lambda _: 7, {})
    assert (found.state, found.version) == (state, 2)
    assert bool(found.reason) == (state in (State.HELD, State.PUBLISHED))


def test_what_a_side_said_of_an_earlier_version_does_not_stand_for_a_later_one() -> None:
    assert current(stored(DESTINATION, 1), {"blue": SAID}, {}, NOW_MS) == {"blue": SAID}
    assert current(stored(DESTINATION, 2), {"blue": SAID}, {}, NOW_MS)["blue"].state is State.PENDING


@pytest.mark.parametrize(
    ("spoken", "seen", "states"),
    [
        ({}, {"blue": NOW_MS - 1}, {"blue": State.PENDING}),
        ({"green": SAID}, {"blue": NOW_MS - 1}, {"blue": State.PENDING, "green": State.IN_FORCE}),
        ({"green": SAID}, {"blue": None, "green": NOW_MS}, {"green": State.IN_FORCE}),
        ({"green": SAID}, {"blue": NOW_MS - GONE_MS}, {"green": State.IN_FORCE}),
        ({"blue": OLD, "green": SAID}, {"blue": NOW_MS - GONE_MS}, {"green": State.IN_FORCE}),
        ({"blue": OLD, "green": SAID}, {"blue": None}, {"blue": State.PENDING, "green": State.IN_FORCE}),
        ({"blue": SAID}, {"blue": NOW_MS - GONE_MS}, {"blue": State.IN_FORCE}),
    ],
)
def test_a_silent_side_with_a_provisioner_is_waited_for_and_one_that_is_gone_is_not(
    spoken: dict[str, DocumentStatus], seen: dict[str, int | None], states: dict[str, State]
) -> None:
    found = current(stored(DESTINATION, 1), spoken, seen, NOW_MS)
    assert {side: status.state for side, status in found.items()} == states
    assert all(status.version == 1 for status in found.values())


@pytest.mark.parametrize(
    ("used", "state", "reason"),
    [
        ({}, State.PUBLISHED, "not in use yet at transmit"),
        ({"transmit": 7, "collect": 9}, State.PUBLISHED, "not in use yet at transmit"),
        ({"transmit": 8}, State.IN_FORCE, ""),
    ],
)
def test_a_version_is_in_force_when_every_process_of_the_nodes_that_need_it_is_past_its_record(
    used: dict[str, int], state: State, reason: str
) -> None:
    (found,) = judged([stored(DESTINATION)], entry(DESTINATION, 2), lambda _: 7, used)
    assert (found.state, found.reason) == (state, reason)


@pytest.mark.parametrize(("offset", "used"), [(7, 8), (-1, 0)])
def test_a_deletion_is_in_force_when_the_nodes_are_past_it_and_also_if_its_record_is_gone(
    offset: int, used: int
) -> None:
    (found,) = judged([stored(None)], {}, lambda _: offset, {"transmit": used})
    assert found.state is State.IN_FORCE


def test_a_deleted_document_of_an_unknown_kind_has_no_status() -> None:
    deletion = stored(None, kind="stream")
    assert judged([deletion], {}, lambda _: 7, {}) == []
    assert list(forgettable([deletion], {}, lambda _: -1, {}, 2 * KEPT_MS)) == []
