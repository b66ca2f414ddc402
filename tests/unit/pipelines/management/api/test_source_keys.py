"""The maker of a write key gets it whenever the key is in force."""

from typing import Any

from pipelines.management.api.key_notes import KeyNotes
from pipelines.management.api.source_keys import SourceKeys
from shared.contracts.documents import Source, key_digest, key_id
from shared.dynamodb.client import StoreError
from tests.unit.pipelines.management.api.one_document import KEY, OneDocument, documents_in, source


class AwayNotes:
    """A store that fails after the document is written."""

    def put(self, *_: Any) -> None:
        raise StoreError("away")

    def delete(self, *_: Any) -> None:
        raise StoreError("away")


def test_a_key_whose_note_cannot_be_kept_is_shown_all_the_same() -> None:
    table, away = OneDocument(source("sha256:1")), AwayNotes()
    given: Any = away
    text, listed = SourceKeys(documents_in(table), KeyNotes(given, given, lambda: 7)).add(
        "t", KEY.name, "for the app", by="ann"
    )
    now = table.versions[-1].document
    assert isinstance(now, Source)
    assert list(now.write_keys) == ["sha256:1", key_digest(text)]
    assert (listed.id, listed.label, listed.made_ms) == (key_id(key_digest(text)), "for the app", 7)


def test_a_key_that_is_removed_is_answered_so_though_its_note_cannot_be_deleted() -> None:
    table, away = OneDocument(source("sha256:1", "sha256:2")), AwayNotes()
    given: Any = away
    SourceKeys(documents_in(table), KeyNotes(given, given, lambda: 7)).remove("t", KEY.name, "1", by="ann")
    now = table.versions[-1].document
    assert isinstance(now, Source)
    assert list(now.write_keys) == ["sha256:2"]
