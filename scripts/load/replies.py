"""Interprets collect's response for the events of a request. Pure."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

import msgspec
from msgspec import Struct

from shared.contracts.http_statuses import RETRYABLE


class Disposition(Enum):
    """The verdict on a response, from which the sender's next step follows."""

    SETTLED = "settled"
    """Each event was accepted or refused for good."""

    AGAIN = "again"
    """None was accepted; the same request may succeed later."""

    HOPELESS = "hopeless"
    """No request of this sender will be accepted."""


class Answer(Struct, frozen=True, kw_only=True):
    """An interpreted response."""

    disposition: Disposition
    accepted: Sequence[str] = ()
    """Ids of the accepted events."""

    refused: Sequence[str] = ()
    """A reason for each event that was refused for good."""

    reason: str = ""
    wait_seconds: float | None = None
    """Value of Retry-After."""


class _Item(Struct):
    status: int = 202
    id: str = ""
    detail: str = ""
    field: str = ""


class _Body(Struct):
    ids: list[str] = []
    items: list[_Item] = []
    detail: str = ""
    fix: str = ""


_ACCEPTED: Final = 202
_MIXED: Final = 207
_HOPELESS: Final = {401, 403, 404, 405, 415}
_AGAIN: Final = RETRYABLE | {425}
_decoder = msgspec.json.Decoder(_Body)


def read_answer(status: int, body: bytes, headers: Mapping[str, str], ids: Sequence[str]) -> Answer:
    """Interpret a response; one that collect never gives, from another server at its address, is hopeless.

    Args:
        status: HTTP status.
        body: of the response.
        headers: of the response.
        ids: of the request's events; empty if only the response has them.
    """
    if status == _ACCEPTED:
        return Answer(disposition=Disposition.SETTLED, accepted=ids or _decode(body).ids)
    if status in _AGAIN or status >= 500:
        retry_after = headers.get("Retry-After", "")
        wait = float(retry_after) if retry_after.isdigit() else None
        return Answer(disposition=Disposition.AGAIN, reason=str(status), wait_seconds=wait)
    if status < 400 and status != _MIXED:
        place = headers.get("Location")
        said = f"{status}, which is not of collect" + (f": it is moved to {place}" if place else "")
        return Answer(disposition=Disposition.HOPELESS, reason=f"{said}; check --url")
    return _refusal(status, _decode(body), len(ids))


def _refusal(status: int, body: _Body, count: int) -> Answer:
    if status in _HOPELESS:
        reason = ": ".join(filter(None, (f"{status} {body.detail}".strip(), body.fix)))
        return Answer(disposition=Disposition.HOPELESS, reason=reason)
    if not body.items:
        return Answer(
            disposition=Disposition.SETTLED, refused=[f"{status} {body.detail}".strip()] * max(count, 1)
        )
    taken = [item.id for item in body.items if item.status < 300]
    refused = [f"{item.field}: {item.detail}" for item in body.items if item.status >= 300]
    return Answer(disposition=Disposition.SETTLED, accepted=taken, refused=refused)


def _decode(body: bytes) -> _Body:
    try:
        return _decoder.decode(body)
    except msgspec.MsgspecError:  # for example, an error page of a proxy
        return _Body()
