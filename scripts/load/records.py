r"""Records of acknowledged and of received events, as lines of tab-separated text.

Acknowledged: `id \t acked_ms`. Received: `id \t received_ms \t lag_ms`, the lag empty if the event had no
readable time. An id may hold any character: backslash, tab, newline and carriage return are escaped.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ORIGINALS = {escaped: original for original, escaped in _ESCAPES.items()}
_RAW = re.compile(r"[\\\t\n\r]")
_ESCAPED = re.compile(r"\\[\\tnr]")


class Acked(Struct, frozen=True):
    """An event in a request that got a 2xx."""

    event_id: str
    acked_ms: int


class Received(Struct, frozen=True):
    """An event that arrived at a destination."""

    event_id: str
    received_ms: int
    lag_ms: int | None


def acked_lines(ids: Iterable[str], acked_ms: int) -> str:
    """Lines for events acknowledged by one response."""
    tail = f"\t{acked_ms}\n"
    return "".join([_escape(event_id) + tail for event_id in ids])


def received_lines(ids: Iterable[str], received_ms: int, lags_ms: Iterable[int | None]) -> str:
    """Lines for events that arrived in one request."""
    middle = f"\t{received_ms}\t"
    return "".join(
        [
            f"{_escape(event_id)}{middle}{'' if lag is None else lag}\n"
            for event_id, lag in zip(ids, lags_ms, strict=True)
        ]
    )


def read_acked(path: Path) -> Iterator[Acked]:
    """Records of a file that a sender wrote.

    Raises:
        ValueError: at a complete line that is not a record.
    """
    for event_id, acked_ms in _rows(path):
        yield Acked(event_id, int(acked_ms))


def read_received(path: Path) -> Iterator[Received]:
    """Records of a file that a receiver wrote.

    Raises:
        ValueError: at a complete line that is not a record.
    """
    for event_id, received_ms, lag in _rows(path):
        yield Received(event_id, int(received_ms), int(lag) if lag else None)


def _rows(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            if not line.endswith("\n"):
                return  # truncated by a kill during a write
            event_id, *rest = line[:-1].split("\t")
            yield [_unescape(event_id), *rest]


def _escape(event_id: str) -> str:
    if _RAW.search(event_id) is None:
        return event_id
    return _RAW.sub(lambda found: _ESCAPES[found.group()], event_id)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPED.sub(lambda found: _ORIGINALS[found.group()], text)
