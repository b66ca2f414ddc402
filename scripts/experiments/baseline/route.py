"""`events` -> `outbound`: one record for each pipe that an event matches."""

from collections.abc import Callable, Iterator, Sequence
from zlib import crc32

import msgspec
from confluent_kafka import Message

from scripts.experiments.baseline.hop import Output, header_list
from scripts.experiments.baseline.matching import Test, fields, matcher
from shared.contracts import headers
from shared.contracts.documents import Catalogue, Pipe, TenantName
from shared.contracts.envelope import delivery_key
from shared.contracts.topics import Topic


class Routes(msgspec.Struct, frozen=True):
    """The pipes of one source, and the members of an event that their patterns test."""

    pipes: list[tuple[Pipe, Test]]
    fields: frozenset[str]


class Router:
    """The compiled pipes of one catalogue; build a new router for a new catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        by_source: dict[TenantName, list[Pipe]] = {}
        for pipe in catalogue.pipes.values():
            by_source.setdefault((pipe.tenant, pipe.source), []).append(pipe)
        self._routes = {source: _routes(pipes) for source, pipes in by_source.items()}

    def outputs(self, message: Message) -> Iterator[Output]:
        """The `outbound` records of an `events` record."""
        listed = header_list(message)
        given = dict(listed)
        tenant = given[headers.TENANT].decode()
        routes = self._routes.get((tenant, given[headers.SOURCE].decode()))
        if routes is None:
            return
        event = _event(given, message.value(), routes.fields)
        event_id, source = given[headers.CE_ID].decode(), given[headers.CE_SOURCE].decode()
        for pipe, test in routes.pipes:
            if test(event) and crc32(given[headers.CE_ID]) % 10_000 < pipe.sample * 100:
                added = [(headers.PIPE, pipe.name.encode()), (headers.ATTEMPT, b"1")]
                key = delivery_key(tenant, pipe.name, source, event_id)
                yield Output(Topic.OUTBOUND, message.value(), [*listed, *added], key)


def _routes(pipes: Sequence[Pipe]) -> Routes:
    looked_at = frozenset[str]().union(*(fields(pipe.match) for pipe in pipes))
    return Routes([(pipe, matcher(pipe.match)) for pipe in pipes], looked_at)


def _event(given: dict[str, bytes], value: bytes | None, wanted: frozenset[str]) -> dict[str, object]:
    """The fields of the event that the patterns look at."""
    event: dict[str, object] = {}
    for name in wanted:
        if name == "data":
            event[name] = _parsed(value)
        elif (header := headers.attribute_header(name)) in given:
            event[name] = given[header].decode()
    return event


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


def _parsed(value: bytes | None) -> object:
    try:
        return msgspec.json.decode(value or b"null")
    except msgspec.MsgspecError:
        return None
