"""`events` -> `outbound`: one record for each pipe that an event matches."""

from collections.abc import Callable, Iterator, Sequence
from zlib import crc32

import msgspec
from confluent_kafka import Message

from scripts.bench.yardstick.hop import Output, header_list
from scripts.bench.yardstick.matching import Event, matcher, reads_data
from shared.contracts import headers
from shared.contracts.config import Catalogue, Pipe
from shared.contracts.envelope import delivery_key
from shared.contracts.topics import Topic


class Router:
    """The pipes of one catalogue, ready to be asked. Build a new one when the catalogue is another."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._pipes: dict[str, list[tuple[Pipe, Callable[[Event], bool]]]] = {}
        for pipe in catalogue.pipes.values():
            self._pipes.setdefault(pipe.source, []).append((pipe, matcher(pipe.match)))
        self._parses = {p.source for p in catalogue.pipes.values() if reads_data(p.match)}

    def outputs(self, message: Message) -> Iterator[Output]:
        """The `outbound` records of an `events` record."""
        listed = header_list(message)
        given = dict(listed)
        source, event_id = given[headers.SOURCE].decode(), given[headers.CE_ID].decode()
        event: dict[str, object] = dict(attributes_of(given))
        if source in self._parses:
            event["data"] = _parsed(message.value())
        for pipe, test in self._pipes.get(source, ()):
            if test(event) and crc32(event_id.encode()) % 10_000 < pipe.sample * 100:
                key = delivery_key(pipe.name, given[headers.CE_SOURCE].decode(), event_id)
                added = [(headers.PIPE, pipe.name.encode()), (headers.ATTEMPT, b"1")]
                yield Output(Topic.OUTBOUND, message.value(), [*listed, *added], key)


class Route:
    """The handler: the newest catalogue's router over each message."""

    def __init__(self, catalogue: Callable[[], Catalogue]) -> None:
        self._catalogue = catalogue
        self._router = Router(catalogue())

    def __call__(self, messages: Sequence[Message]) -> Iterator[Output]:
        """The `outbound` records of a turn."""
        if self._router.catalogue is not self._catalogue():
            self._router = Router(self._catalogue())
        for message in messages:
            yield from self._router.outputs(message)


def attributes_of(given: dict[str, bytes]) -> dict[str, str]:
    """CloudEvents attributes from a record's headers."""
    found = {
        name.removeprefix(headers.CE_PREFIX): value.decode()
        for name, value in given.items()
        if name.startswith(headers.CE_PREFIX)
    }
    if headers.CONTENT_TYPE in given:
        found["datacontenttype"] = given[headers.CONTENT_TYPE].decode()
    return found


def _parsed(value: bytes | None) -> object:
    try:
        return msgspec.json.decode(value or b"null")
    except msgspec.MsgspecError:
        return None
