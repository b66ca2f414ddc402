"""A dead letter: read from its record, chosen by filters, made fit to be sent again. Pure."""

import base64
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from msgspec import Struct

from shared.contracts import headers as h
from shared.contracts.headers import header_attribute
from shared.contracts.replays import LetterKey
from shared.contracts.topics import Topic

Headers = list[tuple[str, bytes | None]]
"""Kafka headers in order; a name may occur twice, and then the last one counts."""

_GONE: Final = frozenset((*h.OF_A_TRY, h.ATTEMPT, h.PIPES, h.LETTER))
"""What a letter's copy does not take along: to transmit it is new, and it is none of route's copies."""

_REFERENCE: Final = re.compile(r"([0-9]{1,9})/([0-9]{1,18})")


class DeadLetter(Struct, frozen=True, kw_only=True):
    """A record of `dead_letter`."""

    key: LetterKey
    record_key: bytes | None
    value: bytes | None
    headers: Headers
    texts: Mapping[str, str]
    """The headers as text, without a value that is none."""

    destination: str
    """Of its last try; empty where nobody knows."""

    @property
    def reference(self) -> str:
        """How people name it: `partition/offset`."""
        return f"{self.key.partition}/{self.key.offset}"

    @property
    def pipe(self) -> str:
        """The pipe it went through."""
        return self.texts.get(h.PIPE, "")

    @property
    def reason(self) -> str:
        """Why it is dead: a word, a colon, a sentence."""
        return self.texts.get(h.REASON, "")

    @property
    def event_id(self) -> str:
        """CloudEvents id."""
        return self.texts.get(h.CE_ID, "")


def letter_of(
    key: LetterKey,
    record_key: bytes | None,
    value: bytes | None,
    headers: Headers,
    leads_to: Mapping[str, str],
) -> DeadLetter:
    """The letter of a record.

    Args:
        key: where it is.
        record_key: the record's key.
        value: the record's value.
        headers: the record's headers.
        leads_to: the destination of each pipe today, for a record that does not name its own.
    """
    texts = {name: value.decode(errors="replace") for name, value in headers if value is not None}
    destination = texts.get(h.DESTINATION, leads_to.get(texts.get(h.PIPE, ""), ""))
    return DeadLetter(
        key=key, record_key=record_key, value=value, headers=headers, texts=texts, destination=destination
    )


class Filter(Struct, frozen=True, kw_only=True):
    """Which letters are meant; what is None does not matter."""

    pipe: str | None = None
    destination: str | None = None
    reason: str | None = None
    """Some part of the reason, in any case."""

    since_ms: int | None = None
    """They died at this moment or later, epoch milliseconds."""

    until_ms: int | None = None
    """They died before this moment, epoch milliseconds."""

    event_id: str | None = None
    places: frozenset[tuple[int, int]] | None = None
    """Partitions and offsets."""

    def takes(self, letter: DeadLetter) -> bool:
        """Whether a letter is meant."""
        at_ms = letter.key.written_ms
        return (
            self.pipe in (None, letter.pipe)
            and self.destination in (None, letter.destination)
            and self.event_id in (None, letter.event_id)
            and (self.places is None or letter.key[:2] in self.places)
            and (self.reason is None or self.reason.lower() in letter.reason.lower())
            and (self.since_ms is None or at_ms >= self.since_ms)
            and (self.until_ms is None or at_ms < self.until_ms)
        )


def reference(text: str) -> tuple[int, int] | None:
    """Partition and offset in `partition/offset`; None where the text is none."""
    found = _REFERENCE.fullmatch(text)
    return (int(found[1]), int(found[2])) if found else None


class ReplayRecord(NamedTuple):
    """The record that sends a letter again."""

    topic: Topic
    key: bytes | None
    value: bytes | None
    headers: Headers


def copy_of(letter: DeadLetter) -> ReplayRecord:
    """Same key, bytes and ids; the first attempt, whose first try is still to come. It names the letter."""
    kept = [header for header in letter.headers if header[0] not in _GONE]
    return ReplayRecord(Topic.OUTBOUND, letter.record_key, letter.value, [*kept, *_of_a_copy(letter)])


def _of_a_copy(letter: DeadLetter) -> Headers:
    return [(h.ATTEMPT, b"1"), (h.LETTER, letter.reference.encode())]


def as_mapping(letter: DeadLetter, replayed: Mapping[LetterKey, int], *, body: bool) -> dict[str, Any]:
    """A letter as plain values, for JSON; with `body`, its data as text, or in base64 where that is none."""
    texts = letter.texts
    ce = {name for name in texts if name.startswith(h.CE_PREFIX) or name == h.CONTENT_TYPE}
    shown: dict[str, Any] = {
        "letter": letter.reference,
        "died_ms": letter.key.written_ms,
        "pipe": letter.pipe,
        "destination": letter.destination or None,
        "tenant": texts.get(h.TENANT),
        "reason": letter.reason,
        "status": _whole(texts.get(h.STATUS)),
        "attempt": _whole(texts.get(h.ATTEMPT)),
        "received_ms": _whole(texts.get(h.RECEIVED)),
        "first_try_ms": _whole(texts.get(h.FIRST_TRY)),
        "last_try_ms": _whole(texts.get(h.LAST_TRY)),
        "replayed_ms": replayed.get(letter.key),
        "attributes": {header_attribute(name): texts[name] for name in sorted(ce)},
        "bytes": len(letter.value or b""),
    }
    return shown | (_body(letter.value) if body else {})


def _body(value: bytes | None) -> dict[str, Any]:
    if value is None:
        return {"data": None}
    try:
        return {"data": value.decode()}
    except UnicodeDecodeError:
        return {"data_base64": base64.b64encode(value).decode()}


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() else None


def still_open(letters: Iterable[DeadLetter], closed: Container[LetterKey]) -> Iterator[DeadLetter]:
    """The letters without those that are closed: put back before."""
    return (letter for letter in letters if letter.key not in closed)
