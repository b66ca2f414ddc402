"""Lists the events in a record of a tallied topic, to name lost events and to trace one. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from shared.cloudevents.json_validation import PARSE_ERRORS
from shared.contracts import headers as h
from shared.contracts.ledger import Stage
from shared.contracts.receipts import Receipt
from shared.contracts.stages import NAMED_BY_PIPE, RESULT_STAGES, TOPIC_STAGES, Copy, copies, identity
from shared.contracts.topics import RETRY_DELAYS, Topic


class Record(NamedTuple):
    """A Kafka record."""

    topic: str
    partition: int
    offset: int
    at_ms: int
    headers: list[tuple[str, bytes | None]]
    value: bytes | None


class ObservedEvent(NamedTuple):
    """One event in a record."""

    record: Record
    stage: Stage
    id: str
    tenant: str
    minute: int
    name: str = ""
    """A source, pipe or topic, as in `Tally.name`."""

    destination: str = ""
    text: str = ""
    """Description of what happened, in a few words."""

    replayed: bool = False
    """Whether it was processed again after a rollback."""


class _Item(msgspec.Struct):
    """The part of an item of `collected` that is needed here."""

    id: str
    source: str
    type: str
    time: str
    minute: int


_items = msgspec.json.Decoder(list[msgspec.Raw])
_item = msgspec.json.Decoder(_Item)
_receipt = msgspec.json.Decoder(Receipt)

Texts = Mapping[str, str]
_Reader = Callable[[Record, Texts], Iterator[ObservedEvent]]


def events_in(record: Record) -> Iterator[ObservedEvent]:
    """The events of a record, as audit tallies them; empty if it cannot be decoded."""
    texts = {name: value.decode(errors="replace") for name, value in record.headers if value is not None}
    read = _READERS.get(record.topic)
    return iter(()) if read is None else iter(_readable(read(record, texts)))


def _readable(found: Iterable[ObservedEvent]) -> list[ObservedEvent]:
    try:
        return list(found)
    except (*PARSE_ERRORS, ValueError, KeyError):
        return []


def _collected(record: Record, texts: Texts) -> Iterator[ObservedEvent]:
    source, tenant, _ = texts[h.SOURCE], texts[h.TENANT], int(texts[h.RECEIVED])
    for raw in _items.decode(record.value or b""):
        try:
            item = _item.decode(raw)
        except msgspec.MsgspecError:
            continue
        yield ObservedEvent(
            record, Stage.COLLECTED, item.id, tenant, item.minute, source, text=f"source {source}"
        )


def _receipts(record: Record, _: Texts) -> Iterator[ObservedEvent]:
    said = _receipt.decode(record.value or b"")
    answer = f"{said.result}, {said.status or 'no answer'}"
    text = f"{answer}, attempt {said.attempt}" + (f": {said.reason}" if said.reason else "")
    stage = RESULT_STAGES[said.result]
    again = bool(said.replay)
    text = _again(text, again)
    for event_id, minute in zip(said.ids, said.minutes, strict=True):
        yield ObservedEvent(
            record,
            stage,
            event_id,
            said.tenant,
            minute,
            said.pipe,
            said.destination,
            text,
            again,
        )


def _of(topic: Topic, text: Callable[[Texts], str]) -> _Reader:
    """The reader for a topic with one event per record."""
    stage = TOPIC_STAGES[topic]

    def read(record: Record, texts: Texts) -> Iterator[ObservedEvent]:
        name = texts[h.PIPE] if topic in NAMED_BY_PIPE else texts.get(h.PIPE, "")
        yield _seen(record, texts, stage, name, text(texts))

    return read


def _outbound(record: Record, texts: Texts) -> Iterator[ObservedEvent]:
    for copy in copies(texts[h.PIPE], texts.get(h.PIPES), texts.get(h.LETTER)):
        yield _seen(record, texts, copy.stage, copy.pipe, _copy_text(copy, texts))


def _copy_text(copy: Copy, texts: Texts) -> str:
    if copy.stage is Stage.LETTER:
        return f"dead letter {texts[h.LETTER]} again"
    return f"pipe {copy.pipe}" + (" is to get it" if copy.stage is Stage.CLAIMED else "")


def _quarantined(record: Record, texts: Texts) -> Iterator[ObservedEvent]:
    """The event of a quarantined record, if its id and minute are known; the tenant may be missing."""
    topic = texts.get(h.ORIGIN, "").partition("/")[0]
    yield ObservedEvent(
        record,
        Stage.QUARANTINED,
        texts[h.CE_ID],
        texts.get(h.TENANT, ""),
        int(texts[h.MINUTE]),
        topic,
        texts.get(h.DESTINATION, ""),
        f"from {topic}: {texts.get(h.REASON, '')}",
        h.REPLAY in texts,
    )


def _seen(record: Record, texts: Texts, stage: Stage, name: str, text: str) -> ObservedEvent:
    event, again = identity(texts), h.REPLAY in texts
    destination = texts.get(h.DESTINATION, "")
    return ObservedEvent(
        record, stage, event.id, event.tenant, event.minute, name, destination, _again(text, again), again
    )


def _again(text: str, again: bool) -> str:
    return f"{text}, processed again after a rollback" if again else text


def _why(texts: Texts) -> str:
    return texts.get(h.REASON, "")


_READERS: Final[Mapping[str, _Reader]] = {
    Topic.COLLECTED: _collected,
    Topic.EVENTS: _of(Topic.EVENTS, lambda _: "an event"),
    Topic.UNMATCHED: _of(Topic.UNMATCHED, lambda _: "no pipe takes it"),
    Topic.OUTBOUND: _outbound,
    Topic.RECEIPTS: _receipts,
    Topic.RETRY_OUT: _of(Topic.RETRY_OUT, lambda texts: f"sent again, attempt {texts.get(h.ATTEMPT, '?')}"),
    **{topic: _of(topic, _why) for topic in (*RETRY_DELAYS, Topic.DEAD_LETTER)},
    Topic.QUARANTINE: _quarantined,
}
