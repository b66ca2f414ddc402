"""Events from a pipe are taken as they come, and nothing else waits for them."""

import queue
from collections.abc import Iterator

import pytest

from scripts.load.event_files import FileError
from scripts.load.event_source import LINES, PLAIN, EventBatch
from scripts.load.piped_events import PipedEvents
from tests.harness.waiting import eventually

EVENT = b'{"specversion":"1.0","id":"%d","source":"s","type":"t"}'


class Pipe:
    """A pipe into which the test writes, and a clock that it moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self._written: queue.Queue[bytes | Exception | None] = queue.Queue()

    def write(self, *items: bytes | Exception | None) -> None:
        """Write events, an error in the middle, or None for the end."""
        for item in items:
            self._written.put(item)

    def events(self) -> Iterator[bytes]:
        while (item := self._written.get(timeout=60)) is not None:
            if isinstance(item, Exception):
                raise item
            yield item

    def opened(self) -> PipedEvents:
        return PipedEvents(self.events(), lambda: self.now)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    found = Pipe()
    yield found
    found.write(None)


def _taken(source: PipedEvents, count: int) -> EventBatch | None:
    """The next batch that is not empty; None at the end."""

    def look() -> list[EventBatch | None]:
        found = source.take(count, 0)
        return [] if found is not None and not found.count else [found]

    (found,) = eventually(look, 60, "a batch, or the end")
    return found  # type: ignore[no-any-return]


def test_a_full_request_is_due_at_once_and_a_part_after_a_tenth_of_a_second(pipe: Pipe) -> None:
    pipe.write(*(EVENT % number for number in range(3)))
    source = pipe.opened()
    first = _taken(source, 2)
    assert first
    assert first.body == EVENT % 0 + b"\n" + EVENT % 1
    pipe.now = 0.05
    assert not _empty(source)
    pipe.now = 10
    assert _taken(source, 2) == EventBatch(ids=[], body=EVENT % 2, count=1)
    assert not _empty(source)


def _empty(source: PipedEvents) -> int:
    found = source.take(2, 0)
    assert found is not None
    return found.count


def test_at_the_end_the_rest_is_due_at_once(pipe: Pipe) -> None:
    pipe.write(b'{"a":1}', None)
    source = pipe.opened()
    assert source.content_type == PLAIN
    assert _taken(source, 100) == EventBatch(ids=[], body=b'[{"a":1}]', count=1)
    assert source.take(100, 0) is None


def test_what_came_before_an_error_is_sent_and_the_error_is_kept(pipe: Pipe) -> None:
    error = FileError("-: cut off")
    pipe.write(EVENT % 1, error)
    source = pipe.opened()
    assert source.content_type == LINES
    assert _taken(source, 100) == EventBatch(ids=[], body=EVENT % 1, count=1)
    assert _taken(source, 100) is None
    assert source.problem is error


def test_an_empty_array_has_no_events(pipe: Pipe) -> None:
    pipe.write(None)
    assert _taken(pipe.opened(), 100) is None
