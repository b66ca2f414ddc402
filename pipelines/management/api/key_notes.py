"""Notes on a source's write keys beside its document: who made each, and when it was last used."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import asdict

from shared.contracts import key_usage
from shared.contracts.document_items import StoredDocument
from shared.contracts.documents import Source, key_digest, key_id
from shared.contracts.write_keys import WriteKey
from shared.dynamodb.client import StoreError
from shared.dynamodb.item_store import ItemStore
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)


class KeyNote(Struct, frozen=True, kw_only=True):
    """A key's row in the table, beside the source's document."""

    label: str
    last_four: str
    made_ms: int
    made_by: str


class KeyNotes:
    """The notes of all keys; may be used from any thread."""

    def __init__(self, notes: ItemStore[KeyNote], uses: ItemStore[int], clock: Clock) -> None:
        """`uses` has when each side last saw a key, epoch milliseconds."""
        self._notes, self._uses, self._clock = notes, uses, clock

    def add(self, tenant: str, source: str, text: str, label: str, *, by: str) -> WriteKey:
        """Note a key that was made now: how it is listed.

        A store that fails now costs only the note: the key is in force, and its maker must get the text.
        """
        note = KeyNote(label=label, last_four=text[-4:], made_ms=self._clock(), made_by=by)
        known = key_id(key_digest(text))
        try:
            self._notes.put(_partition(tenant), _sort_key(source, known), note)
        except StoreError as error:
            _log.error("note of a write key cannot be kept", extra={"source": source, "error": str(error)})
        return WriteKey(id=known, **asdict(note))

    def remove(self, tenant: str, source: str, known: str) -> None:
        """Forget a key that is removed, by its id; the note that a store keeps all the same means nothing."""
        try:
            self._notes.delete(_partition(tenant), _sort_key(source, known))
        except StoreError as error:
            _log.warning("note of a write key is left", extra={"source": source, "error": str(error)})

    def listed(self, tenant: str, stored: StoredDocument) -> list[WriteKey]:
        """The keys of a source that is there."""
        name = stored.key.name
        return _listed(
            stored, dict(self._notes.all(_partition(tenant), f"{name}/")), self._used(tenant, name)
        )

    def _used(self, tenant: str, source: str) -> dict[str, int]:
        """When each key was last used on any side, by `source/key id`."""
        found: dict[str, int] = {}
        for sort, at_ms in self._uses.all(key_usage.partition(tenant), f"{source}/"):
            found[key_usage.key_of(sort)] = max(at_ms, found.get(key_usage.key_of(sort), 0))
        return found


def _partition(tenant: str) -> str:
    return f"keys#{tenant}"


def _sort_key(source: str, known: str) -> str:
    return f"{source}/{known}"


def _listed(stored: StoredDocument, notes: Mapping[str, KeyNote], used: Mapping[str, int]) -> list[WriteKey]:
    """The keys of a source, with what is noted of them, and when they were used, both by sort key."""
    assert isinstance(stored.document, Source)
    found = []
    for digest in stored.document.write_keys:
        sort = _sort_key(stored.key.name, key_id(digest))
        known = {} if sort not in notes else asdict(notes[sort])
        found.append(WriteKey(id=key_id(digest), used_ms=used.get(sort), **known))
    return found
