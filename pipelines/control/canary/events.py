"""Encodes the canary's requests to collect, and decodes the requests that its destinations receive. Pure."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from pipelines.control.canary.documents import CARD, KIND, NOTE, CanaryEvent

CONTENT_TYPE: Final = "application/cloudevents-batch+json"

Ids = Sequence[str]


class _Envelope(msgspec.Struct):
    """The part of a CloudEvent that a destination reads."""

    data: CanaryEvent


_encode: Final = msgspec.json.Encoder().encode
_batch: Final = msgspec.json.Decoder(list[_Envelope])
_array: Final = msgspec.json.Decoder(list[CanaryEvent])
_event: Final = msgspec.json.Decoder(_Envelope)


def request(ids: Ids, now_ms: int) -> bytes:
    """The body of a request to collect with one event for each id."""
    return _encode([_cloud_event(event_id, now_ms) for event_id in ids])


def _cloud_event(event_id: str, now_ms: int) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": event_id,
        "source": "/hifi/canary",
        "type": "hifi.canary",
        "time": datetime.fromtimestamp(now_ms / 1000, UTC).isoformat(timespec="milliseconds"),
        "data": CanaryEvent(id=event_id, sent_ms=now_ms, kind=KIND, card=CARD, note=NOTE),
    }


def arrived(format_: str, body: bytes) -> list[CanaryEvent]:
    """The events in a request in one of the webhook connector's formats.

    Raises:
        msgspec.MsgspecError: if the body is not in that format.
    """
    return _READERS[format_](body)


_READERS: Final[Mapping[str, Callable[[bytes], list[CanaryEvent]]]] = {
    "batch": lambda body: [each.data for each in _batch.decode(body)],
    "array": _array.decode,
    "ndjson": lambda body: [_event.decode(line).data for line in body.splitlines()],
    "event": lambda body: [_event.decode(body).data],
}
