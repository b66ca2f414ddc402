"""Bodies of collect's replies: ids, an item per event where not all were taken, or a problem (RFC 9457)."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from pipelines.data.collect.errors import Refusal, RefusedError
from pipelines.data.collect.events import Taken
from shared.contracts.limits import MAX_BODY_BYTES

PROBLEM_TYPE: Final = "application/problem+json"
_encoder = msgspec.json.Encoder()


class Reply(NamedTuple):
    """An HTTP response."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


class _Accepted(Struct, frozen=True):
    accepted: int
    ids: list[str]


class _TakenItem(Struct, frozen=True):
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


class _Mixed(Struct, frozen=True):
    accepted: int
    refused: int
    items: list[_TakenItem | _RefusedItem]


def reply_results(results: Sequence[Taken | Refusal]) -> Reply:
    """202 when all events were taken, 207 when some were, 400 when none was."""
    ids = [result.id for result in results if isinstance(result, Taken)]
    if len(ids) == len(results):
        return Reply(202, _encoder.encode(_Accepted(len(ids), ids)))
    mixed = _Mixed(len(ids), len(results) - len(ids), [_item(*each) for each in enumerate(results)])
    return Reply(207 if ids else 400, _encoder.encode(mixed))


def reply_refused(error: RefusedError) -> Reply:
    """A request refused as a whole."""
    status, refusal = HTTPStatus(error.status), error.refusal
    problem = _Problem("about:blank", status.phrase, status, refusal.detail, refusal.field, refusal.fix)
    return Reply(error.status, _encoder.encode(problem), PROBLEM_TYPE, error.headers)


def leaves_unread(error: RefusedError, request: Mapping[bytes, bytes]) -> bool:
    """Whether a refusal leaves more of the body on its way than the server may silently skip.

    A short body of declared length is skipped and the connection goes on. One of unknown or excessive length
    is not, nor one that was announced with Expect, which may never come.
    """
    if not error.body_unread:
        return False
    declared = request.get(b"content-length", b"")
    short = declared.isdigit() and len(declared) < 10 and int(declared) <= MAX_BODY_BYTES
    return error.status == 408 or not short or b"expect" in request


def _item(index: int, result: Taken | Refusal) -> _TakenItem | _RefusedItem:
    if isinstance(result, Taken):
        return _TakenItem(index, 202, result.id)
    return _RefusedItem(index, 400, result.detail, result.field, result.fix)
