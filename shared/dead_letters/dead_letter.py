"""Dead letters: decoded from records, filtered, and turned into records for a replay. Pure."""

import base64
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol

from msgspec import Struct

from shared.contracts import headers as h
from shared.contracts.documents import TenantName
from shared.contracts.headers import Headers, header_attribute
from shared.contracts.replays import LetterKey
from shared.contracts.topics import Topic

_DROPPED: Final = frozenset((*h.OF_A_TRY, h.ATTEMPT, h.PIPES, h.LETTER))
"""Headers that a replayed record does not keep: to transmit it is a new delivery."""

_REFERENCE: Final = re.compile(r"([0-9]{1,9})/([0-9]{1,18})")


LeadsTo = Mapping[TenantName, str]
"""The current destination of each tenant's pipe."""


class DeadLetter(Struct, frozen=True, kw_only=True):
    """A record of `dead_letter`."""

    key: LetterKey
    record_key: bytes | None
    value: bytes | None
    headers: Headers
    texts: Mapping[str, str]
    """The headers as text, without those that have no value."""

    destination: str
    """Destination of its last try; empty if unknown."""

    @property
    def reference(self) -> str:
        """Its name on the command line: `partition/offset`."""
        return f"{self.key.partition}/{self.key.offset}"

    @property
    def tenant(self) -> str:
        """The tenant of its event."""
        return self.texts.get(h.TENANT, "")

    @property
    def pipe(self) -> str:
        """The pipe it went through."""
        return self.texts.get(h.PIPE, "")

    @property
    def reason(self) -> str:
        """Why it was not delivered: a word, a colon, a sentence."""
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
    leads_to: LeadsTo,
) -> DeadLetter:
    """The dead letter of a record.

    Args:
        key: its place in the topic.
        record_key: the record's key.
        value: the record's value.
        headers: the record's headers.
        leads_to: for records that do not name their destination.
    """
    texts = {name: value.decode(errors="replace") for name, value in headers if value is not None}
    whose = texts.get(h.TENANT, ""), texts.get(h.PIPE, "")
    destination = texts.get(h.DESTINATION, leads_to.get(whose, ""))
    return DeadLetter(
        key=key, record_key=record_key, value=value, headers=headers, texts=texts, destination=destination
    )


class Filter(Struct, frozen=True, kw_only=True):
    """Conditions on dead letters; those that are None do not apply."""

    tenant: str | None = None
    pipe: str | None = None
    destination: str | None = None
    reason: str | None = None
    """Part of the reason, ignoring case."""

    since_ms: int | None = None
    """Written at this time or later, epoch milliseconds."""

    until_ms: int | None = None
    """Written before this time, epoch milliseconds."""

    event_id: str | None = None
    places: frozenset[tuple[int, int]] | None = None
    """Partitions and offsets."""

    def takes(self, letter: DeadLetter) -> bool:
        """Whether a letter meets all conditions."""
        at_ms = letter.key.written_ms
        return (
            self.tenant in (None, letter.tenant)
            and self.pipe in (None, letter.pipe)
            and self.destination in (None, letter.destination)
            and self.event_id in (None, letter.event_id)
            and (self.places is None or letter.key[:2] in self.places)
            and (self.reason is None or self.reason.lower() in letter.reason.lower())
            and (self.since_ms is None or at_ms >= self.since_ms)
            and (self.until_ms is None or at_ms < self.until_ms)
        )


def reference(text: str) -> tuple[int, int] | None:
    """Partition and offset of `partition/offset`; None for any other text."""
    found = _REFERENCE.fullmatch(text)
    return (int(found[1]), int(found[2])) if found else None


class Replays(Protocol):
    """Times of replays, such as a mapping."""

    def get(self, letter: LetterKey, /) -> int | None:
        """When a letter was replayed, epoch milliseconds; None if it was not."""
        ...


class ReplayRecord(NamedTuple):
    """The record that replays a letter."""

    topic: Topic
    key: bytes | None
    value: bytes | None
    headers: Headers


def copy_of(letter: DeadLetter) -> ReplayRecord:
    """A record with the same key, bytes and ids as a first attempt; it names the letter it replays."""
    kept = [header for header in letter.headers if header[0] not in _DROPPED]
    return ReplayRecord(Topic.OUTBOUND, letter.record_key, letter.value, [*kept, *_of_a_copy(letter)])


def _of_a_copy(letter: DeadLetter) -> Headers:
    return [(h.ATTEMPT, b"1"), (h.LETTER, letter.reference.encode())]


def as_mapping(letter: DeadLetter, replayed: Replays, *, body: bool) -> dict[str, Any]:
    """A letter as plain values, for JSON; with `body`, its data as text or, if it is not UTF-8, base64."""
    shown = facts(letter, replayed) | {"attributes": attributes(letter), "bytes": len(letter.value or b"")}
    return shown | (_body(letter.value) if body else {})


def attributes(letter: DeadLetter) -> dict[str, str]:
    """The event's CloudEvents attributes, before any mask."""
    texts = letter.texts
    ce = {name for name in texts if name.startswith(h.CE_PREFIX) or name == h.CONTENT_TYPE}
    return {header_attribute(name): texts[name] for name in sorted(ce)}


def facts(letter: DeadLetter, replayed: Replays) -> dict[str, Any]:
    """hifi's own facts about a letter, as plain values: nothing of its event."""
    texts = letter.texts
    return {
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
    }


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
    """The letters without those that were replayed before."""
    return (letter for letter in letters if letter.key not in closed)
