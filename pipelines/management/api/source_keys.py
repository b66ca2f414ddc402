"""Lists, makes and removes the write keys of sources, for the routes."""

from http import HTTPStatus

from pipelines.management.api.documents import Documents
from pipelines.management.api.key_notes import KeyNotes
from pipelines.management.api.problems import ProblemError, not_found
from pipelines.management.api.write_keys import new_key, with_key, without_key
from shared.contracts.document_items import DocumentKey
from shared.contracts.documents import MOST_WRITE_KEYS, Source
from shared.contracts.write_keys import WriteKey


class SourceKeys:
    """May be used from any thread."""

    def __init__(self, documents: Documents, notes: KeyNotes) -> None:
        self._documents, self._notes = documents, notes

    def listed(self, tenant: str, name: str) -> list[WriteKey]:
        """The write keys of a source."""
        return self._notes.listed(tenant, self._documents.live(tenant, DocumentKey("source", name)))

    def add(self, tenant: str, name: str, label: str, *, by: str) -> tuple[str, WriteKey]:
        """A new key of a source: its text, and how it is listed.

        Raises:
            ProblemError: 409 if the source has as many as it may.
        """
        text = new_key()
        self._documents.change_source(tenant, name, lambda source: _with(source, text), by=by)
        return text, self._notes.add(tenant, name, text, label, by=by)

    def remove(self, tenant: str, name: str, wanted: str, *, by: str) -> None:
        """Take a key from a source by its id; the last one stays.

        Raises:
            ProblemError: 404 if the source has no such key, 409 if it is the last one.
        """
        self._documents.change_source(tenant, name, lambda source: _without(source, wanted), by=by)
        self._notes.remove(tenant, name, wanted)


def _with(source: Source, text: str) -> Source:
    if len(source.write_keys) >= MOST_WRITE_KEYS:
        raise ProblemError(
            HTTPStatus.CONFLICT,
            f"a source has at most {MOST_WRITE_KEYS} write keys; remove one that is not used first",
        )
    return with_key(source, text)


def _without(source: Source, wanted: str) -> Source:
    left = without_key(source, wanted)
    if left is source:
        raise not_found()
    if not left.write_keys:
        raise ProblemError(
            HTTPStatus.CONFLICT, "this is the source's last key; make another one first, or delete it"
        )
    return left
