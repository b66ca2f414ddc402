"""collect's responses: ids, one item per event if some were refused, or a problem (RFC 9457)."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from pipelines.data.collect.errors import RefusedError
from shared.cloudevents.events import AcceptedEvent
from shared.cloudevents.refusal import Refusal
from shared.contracts.limits import MAX_BODY_BYTES

PROBLEM_TYPE: Final = "application/problem+json"
_encoder = msgspec.json.Encoder()


class Response(NamedTuple):
    """An HTTP response."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


class _AcceptedBody(Struct, frozen=True):
    accepted: int
    ids: list[str]


class _AcceptedItem(Struct, frozen=True):
    index: int
    status: int
    id: str


class _RefusedItem(Struct, frozen=True):
    index: int
    status: int
    detail: str
    field: str
    fix: str


class _Problem(Struct, frozen=True):
    """RFC 9457 problem details; `field` and `fix` are members of our own."""

    type: str
    title: str
    status: int
    detail: str
    field: str
    fix: str


class _MixedBody(Struct, frozen=True):
    accepted: int
    refused: int
    items: list[_AcceptedItem | _RefusedItem]


def results_response(results: Sequence[AcceptedEvent | Refusal]) -> Response:
    """202 if all events were accepted, 207 if some were, 400 if none was."""
    ids = [result.id for result in results if isinstance(result, AcceptedEvent)]
    if len(ids) == len(results):
        return Response(202, _encoder.encode(_AcceptedBody(len(ids), ids)))
    mixed = _MixedBody(len(ids), len(results) - len(ids), [_item(*each) for each in enumerate(results)])
    return Response(207 if ids else 400, _encoder.encode(mixed))


def problem_response(error: RefusedError) -> Response:
    """A request refused as a whole."""
    status, refusal = HTTPStatus(error.status), error.refusal
    problem = _Problem("about:blank", status.phrase, status, refusal.detail, refusal.field, refusal.fix)
    return Response(error.status, _encoder.encode(problem), PROBLEM_TYPE, error.headers)


def leaves_unread(error: RefusedError, request: Mapping[bytes, bytes]) -> bool:
    """Whether the connection must be closed because too much of the body may still arrive.

    The rest of a short body of declared length is skipped and the connection stays open; not so a body of
    unknown or excessive length, or one announced with Expect, which may never be sent.
    """
    if not error.body_unread:
        return False
    declared = request.get(b"content-length", b"")
    short = declared.isdigit() and len(declared) < 10 and int(declared) <= MAX_BODY_BYTES
    return error.status == 408 or not short or b"expect" in request


def _item(index: int, result: AcceptedEvent | Refusal) -> _AcceptedItem | _RefusedItem:
    if isinstance(result, AcceptedEvent):
        return _AcceptedItem(index, 202, result.id)
    return _RefusedItem(index, 400, result.detail, result.field, result.fix)
