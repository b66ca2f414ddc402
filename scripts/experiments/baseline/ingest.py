"""`collected` -> `events`: one record for each event of an accepted request."""

import base64
from collections.abc import Iterator, Sequence

import msgspec
from confluent_kafka import Message

from scripts.experiments.baseline.hop import HeaderList, Output, header_list
from shared.contracts import headers
from shared.contracts.envelope import REQUIRED_ATTRIBUTES, SPEC_VERSION, CollectedItem
from shared.contracts.topics import Topic

_decoder = msgspec.json.Decoder(list[CollectedItem])


def ingest(messages: Sequence[Message]) -> Iterator[Output]:
    """The events of some records; a value that cannot be decoded goes to `quarantine`."""
    for message in messages:
        value, given = message.value() or b"", header_list(message)
        try:
            items = _decoder.decode(value)
        except msgspec.MsgspecError as error:
            reason = (headers.REASON, f"unreadable: {error}".encode())
            yield Output(Topic.QUARANTINE, value, [*given, reason])
            continue
        for item in items:
            yield Output(Topic.EVENTS, _data(item), event_headers(item, given))


def event_headers(item: CollectedItem, given: HeaderList) -> HeaderList:
    """Headers in CloudEvents' binary mode, then hifi's own of the request and the event's minute."""
    listed = [(headers.CE_PREFIX + "specversion", SPEC_VERSION.encode())]
    listed += [(headers.CE_PREFIX + name, getattr(item, name).encode()) for name in REQUIRED_ATTRIBUTES]
    listed += [(name, text.encode()) for name, text in item.headers.items()]
    return [*listed, *given, (headers.MINUTE, str(item.minute).encode())]


def _data(item: CollectedItem) -> bytes | None:
    if item.data_base64 is not None:
        return base64.b64decode(item.data_base64)
    return None if item.data is None else item.data.encode()
