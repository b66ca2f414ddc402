"""Events from a user's file: NDJSON, a JSON array or one object; plain, gzip, or standard input."""

import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
from msgspec import Raw

from scripts.load.event_source import BATCH, LINES, PLAIN, EventBatch
from scripts.load.templates import batch, fill, with_gaps
from shared.contracts.timestamps import format_time
from shared.runtime.errors import OperatorError

STANDARD_INPUT: Final = Path("-")
_GZIP_MAGIC: Final = b"\x1f\x8b"
BODY_BYTES: Final = 4 * 1024 * 1024  # collect takes twice as much
"""A request has no further event after so many bytes."""

_object = msgspec.json.Decoder(dict[str, Raw])
_array = msgspec.json.Decoder(list[Raw])

_WRAPPER: Final = {
    "specversion": Raw(b'"1.0"'),
    "source": Raw(b'"hifi-send"'),
    "type": Raw(b'"hifi.sent"'),
    "datacontenttype": Raw(b'"application/json"'),
}
"""Attributes of the CloudEvent that wraps a plain object."""


class FileError(OperatorError):
    """A file without readable events."""


def raw_events(path: Path) -> Iterator[bytes]:
    """The events of a file as their original bytes; NDJSON is read line by line.

    Raises:
        FileError: if the file cannot be read, is not JSON, or has a line among plain objects that is none.
    """
    try:
        with _opened(path) as stream:
            yield from _split(_plain(stream), path)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _opened(path: Path) -> BinaryIO:
    if path != STANDARD_INPUT:
        return path.open("rb")
    # Not `sys.stdin.buffer`: Python closes that when it ends, which fails while a thread reads from it.
    return open(sys.stdin.fileno(), "rb", closefd=False)


def _plain(stream: BinaryIO) -> Iterator[bytes]:
    peek = getattr(stream, "peek", None)
    start = peek(2)[:2] if peek else b""
    return iter(gzip.GzipFile(fileobj=stream) if start == _GZIP_MAGIC else stream)


def _split(lines: Iterator[bytes], path: Path) -> Iterator[bytes]:
    numbered = enumerate(lines, start=1)
    start = next((each for each in numbered if each[1].strip()), None)
    if start is None:
        raise FileError(f"{path} is empty")
    first = start[1]
    if _is_object(first):
        found = _lines(chain([start], numbered))
        return (line for _, line in found) if is_cloudevent(first) else _objects(found, path)
    whole = (first + b"".join(line for _, line in numbered)).strip()
    try:
        items = _array.decode(whole) if whole.startswith(b"[") else [_checked(whole)]
    except msgspec.MsgspecError as error:
        raise FileError(f"{path} is neither JSON nor NDJSON: {error}") from error
    return (bytes(item) for item in items)


def _lines(numbered: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    return ((number, line.strip()) for number, line in numbered if line.strip())


def _objects(lines: Iterable[tuple[int, bytes]], path: Path) -> Iterator[bytes]:
    """Plain objects are sent as one array, in which a line that is none would have all refused."""
    for number, line in lines:
        if not _is_object(line):
            raise FileError(f"{path}, line {number} is not a JSON object", "correct it, or take it out")
        yield line


def _checked(whole: bytes) -> bytes:
    _object.decode(whole)
    return whole


def _is_object(line: bytes) -> bool:
    try:
        _object.decode(line)
    except msgspec.MsgspecError:
        return False
    return True


class FileEvents:
    """Unchanged events, each sent once. Invalid CloudEvents are sent too: collect says what is wrong."""

    def __init__(self, events: Iterable[bytes]) -> None:
        """The first event decides whether all are CloudEvents, or plain objects for collect to wrap."""
        iterator = iter(events)
        first = list(islice(iterator, 1))
        self._events = chain(first, iterator)
        self.content_type = content_type_of(first[0]) if first else PLAIN

    def take(self, count: int, time_ms: int) -> EventBatch | None:  # noqa: ARG002 the events keep their times
        """The next events; fewer where they are large."""
        taken: list[bytes] = []
        size = 0
        for event in islice(self._events, count):
            taken.append(event)
            size += len(event)
            if size >= BODY_BYTES:
                break
        if not taken:
            return None
        return EventBatch(ids=[], body=request_body(taken, self.content_type), count=len(taken))


def content_type_of(first: bytes) -> str:
    """Content type of requests that begin with this event: CloudEvents, or objects for collect to wrap."""
    return LINES if is_cloudevent(first) else PLAIN


def request_body(events: Sequence[bytes], content_type: str) -> bytes:
    """The body of a request with unchanged events."""
    return b"\n".join(events) if content_type == LINES else batch(events)


class StampedEvents:
    """Events with a new, unique id and a new time each time they are sent.

    The rest of a CloudEvent stays unchanged; a plain object becomes the data of one, byte for byte.
    """

    content_type = BATCH

    def __init__(self, events: Sequence[bytes], run: str, *, rounds: int | None) -> None:
        """Prepare templates of the events.

        Args:
            events: JSON objects.
            run: part of the new ids, before a number; characters that need no escaping in JSON.
            rounds: how often all are sent; None is unlimited.

        Raises:
            FileError: if an event cannot be stamped.
        """
        members = [_members(event, number) for number, event in enumerate(events, start=1)]
        self._ids = [bytes(each["id"])[1:-1] for each in members]
        self._templates = [with_gaps(each) for each in members]
        self._run = run.encode()
        self._next = 0
        self._end = None if rounds is None else rounds * len(events)

    def take(self, count: int, time_ms: int) -> EventBatch | None:
        """The next events; fewer where they are large, and at the end."""
        numbers = self._following(count)
        self._next = numbers.stop
        if not numbers:
            return None
        size = len(self._templates)
        ids = [b"%b-%b-%d" % (self._ids[number % size], self._run, number) for number in numbers]
        events = fill([self._templates[n % size] for n in numbers], ids, format_time(time_ms).encode())
        names = [msgspec.json.decode(b'"' + event_id + b'"', type=str) for event_id in ids]
        return EventBatch(ids=names, body=batch(events), count=len(ids))

    def _following(self, count: int) -> range:
        """Numbers of the events of the next request."""
        stop = self._next + count if self._end is None else min(self._next + count, self._end)
        size = 0
        for number in range(self._next, stop):
            template = self._templates[number % len(self._templates)]
            size += len(template.after_id) + len(template.after_time)
            if size >= BODY_BYTES:
                return range(self._next, number + 1)
        return range(self._next, stop)


def _members(event: bytes, number: int) -> Mapping[str, Raw]:
    try:
        members = _object.decode(event)
    except msgspec.MsgspecError as error:
        raise FileError(f"event {number} is not a JSON object: {error}") from error
    if "specversion" not in members:
        return _WRAPPER | {"id": Raw(b'"%d"' % number), "data": Raw(event)}
    if not bytes(members.get("id", Raw(b""))).startswith(b'"'):
        raise FileError(f"event {number} is a CloudEvent without an id")
    return members


def is_cloudevent(event: bytes) -> bool:
    """Whether bytes are a JSON object with a `specversion`."""
    try:
        return "specversion" in _object.decode(event)
    except msgspec.MsgspecError:
        return False
