"""Events grouped by where they go, and cut to what one request may carry. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from pipelines.data.transmit.events import Event
from shared.contracts.documents import Batch
from shared.contracts.envelope import data_member

Group = tuple[str, int]
"""Pipe and global attempt: what all events of a request share."""


def grouped(events: Iterable[Event]) -> dict[Group, list[Event]]:
    """Events by pipe and attempt, each group in the order of arrival."""
    groups: dict[Group, list[Event]] = {}
    for event in events:
        groups.setdefault((event.pipe, event.attempt), []).append(event)
    return groups


def split(events: Sequence[Event], limits: Batch) -> Iterator[list[Event]]:
    """Runs of events within the limits; an event that exceeds max_bytes by itself travels alone."""
    run: list[Event] = []
    size = 2
    for event in events:
        more = size_of(event)
        if run and (len(run) >= limits.max_events or size + more > limits.max_bytes):
            yield run
            run, size = [], 2
        run.append(event)
        size += more
    if run:
        yield run


def halves(events: Sequence[Event]) -> tuple[Sequence[Event], Sequence[Event]]:
    """Two parts, neither empty, of two events or more."""
    middle = len(events) // 2
    return events[:middle], events[middle:]


def size_of(event: Event) -> int:
    """Bytes that an event adds to a body, its comma included; exact for JSON, within a third for the rest."""
    data = len(event.value) if event.value else 0
    return len(event.attributes) + (data if event.is_json else data * 4 // 3) + 10


def body(events: Sequence[Event]) -> bytes:
    """The events in CloudEvents' JSON batch format; JSON data is the received bytes, untouched."""
    return b"[" + b",".join([structured(event) for event in events]) + b"]"


def structured(event: Event) -> bytes:
    """One event in CloudEvents' structured JSON format."""
    if event.value is None:
        return event.attributes
    if event.is_json:
        return b'%b,"data":%b}' % (event.attributes[:-1], event.value)
    return event.attributes[:-1] + data_member(event.content_type, event.value) + b"}"
