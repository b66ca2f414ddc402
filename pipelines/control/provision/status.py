"""How far a side is with each document, from what is wanted and what is on the topic. Pure."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec import Struct

from pipelines.control.provision.reconciliation import Entries
from shared.contracts.document_items import KEPT_MS, DocumentKey, StoredDocument
from shared.contracts.document_status import State
from shared.contracts.documents import KINDS, LIVE_SECONDS, OWN_TENANTS, Entry, Source, same, topic_key
from shared.contracts.heartbeats import Usage, lacking

_OPENS: Final = f"a new source is opened when its pipes are in force, after {LIVE_SECONDS} s at the latest"


class Judged(Struct, frozen=True, kw_only=True):
    """How far the side is with one document."""

    tenant: str
    key: DocumentKey
    version: int
    state: State
    reason: str = ""


def judged(
    stored: Iterable[StoredDocument], published: Entries, offset: Callable[[bytes], int], used: Usage
) -> list[Judged]:
    """How far the side is with the newest version of each document, deletions included.

    Args:
        stored: the documents.
        published: what the topic holds.
        offset: of a key's newest record on the topic; -1 if none was read.
        used: by node, up to where the topic is used.
    """
    customers = (each for each in stored if each.tenant not in OWN_TENANTS and _is_known(each))
    return [_judged(each, published, offset, used) for each in customers]


def forgettable(
    stored: Iterable[StoredDocument],
    published: Entries,
    offset: Callable[[bytes], int],
    used: Usage,
    now_ms: int,
) -> Iterator[StoredDocument]:
    """Deletions that are in force at the side, and old enough that nothing asks for their status any more.

    What a side lacks of them it deletes whether they are remembered or not: all that is not wanted.
    """
    for each in stored:
        old = each.document is None and _is_known(each) and now_ms - each.at_ms > KEPT_MS
        if old and _judged(each, published, offset, used).state is State.IN_FORCE:
            yield each


def _is_known(each: StoredDocument) -> bool:
    """Whether this version knows its kind: deletions can be read of others, too."""
    return each.key.kind in KINDS


def _judged(each: StoredDocument, published: Entries, offset: Callable[[bytes], int], used: Usage) -> Judged:
    key = topic_key(each.tenant, each.key.kind, each.key.name)
    state, reason = _state(each, published.get(key))
    if state is State.PUBLISHED:
        at = lacking(each.key.kind, offset(key), used)
        state, reason = (
            (State.PUBLISHED, f"not in use yet at {', '.join(at)}") if at else (State.IN_FORCE, "")
        )
    return Judged(tenant=each.tenant, key=each.key, version=each.version, state=state, reason=reason)


def _state(each: StoredDocument, entry: Entry | None) -> tuple[State, str]:
    if each.document is None:
        return (State.PUBLISHED if entry is None else State.PENDING), ""
    if entry is None:
        return (State.HELD, _OPENS) if isinstance(each.document, Source) else (State.PENDING, "")
    published = same(entry, Entry(version=each.version, document=each.document))
    return (State.PUBLISHED if published else State.PENDING), ""
