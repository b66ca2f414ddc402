"""Which events a record of a tallied topic holds, one by one: to name them, and to follow one. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from shared.contracts import headers as h
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.ledger import Stage
from shared.contracts.receipts import Receipt
from shared.contracts.topics import RETRY_DELAYS, Topic


class Record(NamedTuple):
    """A record as Kafka has it."""

    topic: str
    partition: int
    offset: int
    at_ms: int
    headers: list[tuple[str, bytes | None]]
    value: bytes | None


class Seen(NamedTuple):
    """One event in a record."""

    record: Record
    stage: Stage
    id: str
    tenant: str
    minute: int
    name: str = ""
    """A source, a pipe or a topic, as `Tally.name`."""

    destination: str = ""
    text: str = ""
    """What happened, in a few words."""


class _Item(msgspec.Struct):
    """What is needed of an item of `collected`."""

    id: str
    minute: int


_RESULTS: Final[Mapping[str, Stage]] = {
    "delivered": Stage.DELIVERED,
    "retry": Stage.RETRYING,
    "dead": Stage.DEAD,
    "duplicate": Stage.DROPPED,
}
_items = msgspec.json.Decoder(list[msgspec.Raw])
_item = msgspec.json.Decoder(_Item)
_receipt = msgspec.json.Decoder(Receipt)

Texts = Mapping[str, str]


def events_in(record: Record) -> Iterator[Seen]:
    """The events of a record, as audit tallies them; none of one that cannot be read."""
    texts = {name: value.decode(errors="replace") for name, value in record.headers if value is not None}
    read = _READERS.get(record.topic)
    return iter(()) if read is None else iter(_readable(read(record, texts)))


def _readable(found: Iterable[Seen]) -> list[Seen]:
    try:
        return list(found)
    except (msgspec.MsgspecError, ValueError, KeyError):
        return []


def _collected(record: Record, texts: Texts) -> Iterator[Seen]:
    for raw in _items.decode(record.value or b""):
        try:
            item = _item.decode(raw)
        except msgspec.MsgspecError:
            continue
        source = texts[h.SOURCE]
        yield Seen(
            record, Stage.COLLECTED, item.id, texts[h.TENANT], item.minute, source, text=f"source {source}"
        )


def _receipts(record: Record, _: Texts) -> Iterator[Seen]:
    said = _receipt.decode(record.value or b"")
    answer = f"{said.result}, {said.status or 'no answer'}"
    text = f"{answer}, attempt {said.attempt}" + (f": {said.reason}" if said.reason else "")
    for event_id, minute in zip(said.ids, said.minutes, strict=True):
        yield Seen(
            record, _RESULTS[said.result], event_id, said.tenant, minute, said.pipe, said.destination, text
        )


def _of(stage: Stage, text: Callable[[Texts], str]) -> Callable[[Record, Texts], Iterator[Seen]]:
    """The reader of a topic with one event a record."""

    def read(record: Record, texts: Texts) -> Iterator[Seen]:
        yield _seen(record, texts, stage, texts.get(h.PIPE, ""), text(texts))

    return read


def _outbound(record: Record, texts: Texts) -> Iterator[Seen]:
    pipe, pipes = texts[h.PIPE], texts.get(h.PIPES, "").split(h.PIPES_SEPARATOR)
    if h.LETTER in texts:
        yield _seen(record, texts, Stage.LETTER, pipe, f"dead letter {texts[h.LETTER]} again")
    elif pipes == [""] or pipes[0] == pipe:
        yield _seen(record, texts, Stage.FIRST, pipe, f"pipe {pipe}")
        for further in pipes[1:]:
            yield _seen(record, texts, Stage.CLAIMED, further, f"pipe {further} is to get it")
    else:
        yield _seen(record, texts, Stage.FURTHER, pipe, f"pipe {pipe}")


def _quarantined(record: Record, texts: Texts) -> Iterator[Seen]:
    topic = texts.get(h.ORIGIN, "").partition("/")[0]
    minute = texts.get(h.MINUTE, "")
    if h.CE_ID in texts and minute.isdigit():
        yield _seen(record, texts, Stage.QUARANTINED, topic, f"from {topic}: {texts.get(h.REASON, '')}")


def _seen(record: Record, texts: Texts, stage: Stage, name: str, text: str) -> Seen:
    return Seen(
        record,
        stage,
        texts[h.CE_ID],
        texts.get(h.TENANT, ""),
        int(texts.get(h.MINUTE) or record.at_ms // MINUTE_MS),
        name,
        texts.get(h.DESTINATION, ""),
        text,
    )


def _why(texts: Texts) -> str:
    return texts.get(h.REASON, "")


_READERS: Final[Mapping[str, Callable[[Record, Texts], Iterator[Seen]]]] = {
    Topic.COLLECTED: _collected,
    Topic.EVENTS: _of(Stage.EVENTS, lambda _: "an event"),
    Topic.UNMATCHED: _of(Stage.UNMATCHED, lambda _: "no pipe takes it"),
    Topic.OUTBOUND: _outbound,
    Topic.RECEIPTS: _receipts,
    Topic.RETRY_OUT: _of(Stage.RETRIED, lambda texts: f"sent again, attempt {texts.get(h.ATTEMPT, '?')}"),
    **dict.fromkeys(RETRY_DELAYS, _of(Stage.WAITING, _why)),
    Topic.DEAD_LETTER: _of(Stage.DEAD_LETTER, _why),
    Topic.QUARANTINE: _quarantined,
}
