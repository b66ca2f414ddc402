"""When a write counts as published."""

import pytest

from scripts.documents.publication import Status, in_words, unpublished
from shared.contracts.document_items import DocumentKey
from shared.contracts.document_status import DocumentStatus, State

KEY = DocumentKey("pipe", "p")


def said(state: State, version: int) -> DocumentStatus:
    return DocumentStatus(state=state, version=version, since_ms=1)


@pytest.mark.parametrize(
    ("status", "left"),
    [
        ({}, True),
        ({"local": said(State.PENDING, 2)}, True),
        ({"local": said(State.HELD, 2)}, True),
        ({"local": said(State.PUBLISHED, 1)}, True),
        ({"local": said(State.PUBLISHED, 2)}, False),
        ({"local": said(State.IN_FORCE, 3)}, False),
        (
            {"a": said(State.IN_FORCE, 2), "b": said(State.PENDING, 2)},
            True,
        ),
    ],
)
def test_a_version_is_published_when_every_side_has_it_or_a_later_one(
    status: dict[str, DocumentStatus], left: bool
) -> None:
    found = unpublished({KEY: 2}, [Status(kind="pipe", name="p", status=status)])
    assert (KEY in found) == left


def test_a_status_that_is_the_same_on_all_sides_is_said_once() -> None:
    held = DocumentStatus(state=State.HELD, version=1, since_ms=1, reason="its name is taken")
    assert in_words({"a": said(State.IN_FORCE, 1), "b": said(State.IN_FORCE, 2)}) == "in force"
    assert in_words({"b": held, "a": said(State.IN_FORCE, 1)}) == "a in force, b held: its name is taken"
    assert in_words({}) == ""


def test_a_document_that_is_not_listed_is_not_published() -> None:
    assert KEY in unpublished({KEY: 1}, [])
