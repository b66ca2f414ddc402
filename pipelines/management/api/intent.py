"""Reads documents from requests and finds what is wrong with them. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Final

import msgspec

from pipelines.management.api.problems import ProblemError, pointer
from shared.contracts.api_answers.problems import FieldError
from shared.contracts.document_items import DocumentKey, StoredDocument
from shared.contracts.document_parsing import parse
from shared.contracts.documents import OWN_TENANTS, Catalogue, Document, Entry, Pipe, sealed, topic_key
from shared.contracts.egress_policy import EgressPolicy
from shared.documents.check import field_problems
from shared.documents.problems import plain
from shared.documents.reach import out_of_reach

PLURALS: Final = {
    "sources": "source",
    "destinations": "destination",
    "pipes": "pipe",
    "contacts": "contact",
}
"""Kinds as paths name them."""


def within(tenant: str, raw: object, key: DocumentKey | None = None) -> object:
    """A document as it was sent, with the tenant, kind and name that the path has filled in.

    Raises:
        ProblemError: 422 if it says otherwise.
    """
    if not isinstance(raw, dict):
        return raw
    given = {"tenant": tenant} | ({} if key is None else {"kind": key.kind, "name": key.name})
    for field, value in given.items():
        if field in raw and raw[field] != value:
            error = FieldError(
                document=str(key or _name_of(raw)),
                pointer=f"/{field}",
                detail=f"is not the path's {value!r}",
                fix="leave it out, or write the same",
            )
            raise wrong([error])
    return raw | given


def named(raw: object) -> DocumentKey:
    """The kind and name that a document of a bundle states; invalid ones are refused when it is read."""
    fields = raw if isinstance(raw, dict) else {}
    return DocumentKey(str(fields.get("kind"))[:80], str(fields.get("name"))[:80])


def read(raw: object, reach: EgressPolicy) -> Document:
    """The document, sealed.

    Raises:
        ProblemError: 422 with everything that is wrong with it.
    """
    name = _name_of(raw)
    errors = [
        FieldError(document=name, pointer=pointer(path), detail=message, fix=fix)
        for path, message, fix in field_problems(raw)
    ]
    if errors:
        raise wrong(errors)
    document = sealed(parse(raw))
    refused = [_refused(name, path, said) for path, said in out_of_reach(document, reach)]
    if refused:
        raise wrong(refused)
    return document


def _refused(name: str, path: str, said: str) -> FieldError:
    """One field, by what is said of it: the problem, `; ` and the fix."""
    detail, _, fix = said.partition("; ")
    return FieldError(document=name, pointer=pointer(path), detail=detail, fix=fix)


def verify(
    before: Mapping[DocumentKey, StoredDocument],
    after: Mapping[DocumentKey, StoredDocument],
    versions: Sequence[StoredDocument],
) -> None:
    """Refuse a write after which a pipe names nothing, or that gives a source a key of another one.

    Raises:
        ProblemError: 409 for a deletion of what is used, 422 for a document that does not fit.
    """
    entries = {
        topic_key(each.tenant, each.key.kind, each.key.name): Entry(
            version=each.version, document=each.document
        )
        for each in after.values()
        if each.document is not None
    }
    catalogue = Catalogue(entries)
    used = sorted(str(each.key) for each in versions if each.document is None and _users(each.key, catalogue))
    if used:
        raise ProblemError(
            HTTPStatus.CONFLICT, f"in use: pipes name {', '.join(used)}; delete or change those pipes first"
        )
    errors = list(_contradictions(before, versions, catalogue))
    if errors:
        raise wrong(errors)


def wrong(errors: Sequence[FieldError]) -> ProblemError:
    """Documents that cannot be taken."""
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    said = f"{first.document}: {first.pointer or '/'}: {first.detail}{more}"
    return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, said, errors=errors)


def wrong_request(where: str, detail: str, fix: str) -> ProblemError:
    """A request that cannot be taken for what is at a JSON pointer in it."""
    return wrong([FieldError(document="request", pointer=where, detail=detail, fix=fix)])


def wrong_body(error: msgspec.ValidationError) -> ProblemError:
    """A body that is JSON, and not what its route takes."""
    message, _, below = str(error).partition(" - at `$")
    return wrong_request(pointer(f"${below.rstrip('`')}"), plain(message), "")


def refuse_own(tenant: str) -> None:
    """hifi's own tenants have no documents in the table, and neither members nor tokens.

    Raises:
        ProblemError: 409 for one of them.
    """
    if tenant in OWN_TENANTS:
        raise ProblemError(HTTPStatus.CONFLICT, f"tenant {tenant} is hifi's own; choose another name")


def _contradictions(
    before: Mapping[DocumentKey, StoredDocument], versions: Sequence[StoredDocument], catalogue: Catalogue
) -> Iterator[FieldError]:
    for each in versions:
        if each.document is not None:
            former = before[each.key].document if each.key in before else None
            for path, said in catalogue.problems(each.document, former):
                yield _refused(str(each.key), path, said)


def _users(key: DocumentKey, catalogue: Catalogue) -> list[Pipe]:
    if key.kind not in ("source", "destination"):
        return []
    return [pipe for pipe in catalogue.pipes.values() if getattr(pipe, key.kind) == key.name]


def _name_of(raw: object) -> str:
    if not isinstance(raw, dict):
        return ""
    return f"{str(raw.get('kind', ''))[:20]}/{str(raw.get('name', ''))[:80]}"
