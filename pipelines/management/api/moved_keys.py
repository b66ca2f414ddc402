"""Write keys that move from one source to another in a set that is written in parts. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pipelines.management.api.intent import wrong
from pipelines.management.api.problems import pointer
from shared.contracts.api_answers.problems import FieldError
from shared.contracts.document_items import DocumentKey, StoredDocument
from shared.contracts.documents import Source


def verify_parts(
    before: Mapping[DocumentKey, StoredDocument], parts: Sequence[Sequence[StoredDocument]]
) -> None:
    """Refuse a set in which a source gets a key of another one that loses it in a later part.

    Args:
        before: the tenant's documents, deletions included.
        parts: the versions that each write adds, one after another.

    Raises:
        ProblemError: 422.
    """
    holders: dict[str, list[DocumentKey]] = defaultdict(list)
    for each in before.values():
        for digest in _keys(each):
            holders[digest].append(each.key)
    part_of = {each.key: at for at, part in enumerate(parts) for each in part}
    errors = [
        _too_early(each, at, holder, is_new=not _keys(before.get(each.key)))
        for each in (each for part in parts for each in part)
        for at, digest in enumerate(_keys(each))
        if digest not in _keys(before.get(each.key))
        for holder in holders[digest]
        if part_of.get(holder, -1) > part_of[each.key]
    ]
    if errors:
        raise wrong(errors)


def _keys(stored: StoredDocument | None) -> Sequence[str]:
    """The digests of the write keys of a source that is there."""
    return stored.document.write_keys if stored and isinstance(stored.document, Source) else ()


def _too_early(source: StoredDocument, at: int, holder: DocumentKey, *, is_new: bool) -> FieldError:
    first = holder.name if is_new else f"{holder.name} and {source.key.name}"
    return FieldError(
        document=str(source.key),
        pointer=pointer(f"$.write_keys[{at}]"),
        detail=f"the set is written in parts, and source {holder.name} has this key until a later one",
        fix=f"apply the set in two steps, first {first} alone",
    )
