"""The events of one request: grouped by pipe and attempt, cut to what a request may carry. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from pipelines.data.transmit.delivery.pipe_resolver import ResolvedPipe
from pipelines.data.transmit.events import Event
from shared.contracts.documents import Batch, Destination

_OF_TWO_BYTES: Final = b'"\\\b\f\n\r\t'
_OF_SIX_BYTES: Final = bytes(each for each in range(0x20) if each not in _OF_TWO_BYTES)
"""The characters that take so many bytes in a JSON string."""


class Group(NamedTuple):
    """The properties that all events of a request share."""

    tenant: str
    pipe: str
    attempt: int
    """Global attempt, from 1."""

    replay: str | None = None
    """The replay that its events are processed again in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBatch:
    """The unsettled events of one request, with the state of their tries."""

    resolved: ResolvedPipe
    attempt: int
    events: Sequence[Event]
    started_ms: int
    """When the task started with them, epoch milliseconds."""

    tried: float | None = None
    """When they were first sent, on the loop's clock."""

    tries: int = 0

    @property
    def group(self) -> Group:
        """The group that its events belong to."""
        pipe, replay = self.resolved.pipe, self.events[0].replay if self.events else None
        return Group(pipe.tenant, pipe.name, self.attempt, replay)

    @property
    def destination(self) -> Destination:
        """Their destination."""
        return self.resolved.destination

    def sent(self, now: float) -> "RequestBatch":
        """The batch with one more try, started at `now` on the loop's clock."""
        return replace(self, tries=self.tries + 1, tried=self.tried or now)

    def of(self, events: Sequence[Event]) -> "RequestBatch":
        """The batch with only these of its events."""
        return replace(self, events=events)

    def part(self, events: Sequence[Event]) -> "RequestBatch":
        """A part of the batch after a split, which does not count as a failed try."""
        return replace(self, events=events, tries=self.tries - 1)


def grouped(events: Iterable[Event]) -> dict[Group, list[Event]]:
    """Events by tenant, pipe, attempt and replay, each group in the order of arrival."""
    groups: dict[tuple[str, str, int, str | None], list[Event]] = {}
    for event in events:  # a plain tuple is made in a fifth of a Group's time
        groups.setdefault((event.tenant, event.pipe, event.attempt, event.replay), []).append(event)
    return {Group(*key): group for key, group in groups.items()}


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
    """Split two or more events into two non-empty parts."""
    middle = len(events) // 2
    return events[:middle], events[middle:]


def size_of(event: Event) -> int:
    """Bytes that an event adds to a body, its comma included: at least, and at most a dozen too many."""
    data = event.value or b""
    if event.is_json:
        return len(event.attributes) + len(data) + 10
    return len(event.attributes) + _written(data) + 21


def _written(data: bytes) -> int:
    """Bytes of data that is not JSON as `data_member` writes it: as a JSON string, or else in base64.

    The string is counted and not made: that would take up to ten times as long, for all events of a task.
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        return len(data) * 4 // 3
    two = len(data) - len(data.translate(None, _OF_TWO_BYTES))
    six = len(data) - len(data.translate(None, _OF_SIX_BYTES))
    return len(data) + two + 5 * six
