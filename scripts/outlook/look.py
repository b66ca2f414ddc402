"""Receipts and waiting records, read within bounds. The doing."""

from collections import defaultdict
from typing import Final, NamedTuple, cast

from confluent_kafka import Message

from scripts.outlook.sampling import scale, slices
from scripts.outlook.state import Outlook, Seen, Waiting, seen, states
from shared.contracts import headers as h
from shared.contracts.documents import Catalogue
from shared.contracts.topics import RETRY_DELAYS, Topic
from shared.kafka.offset_range_reader import OffsetRangeReader
from shared.kafka.progress_group import group_name

CLIENT: Final = "hifi-destinations"
MOST_RECEIPTS: Final = 20_000
"""Read of each partition, the newest."""

MOST_WAITING: Final = 20_000
"""Read of each waiting topic."""


class _Receipts(NamedTuple):
    found: list[Seen]
    since_ms: int
    sampled: bool


def look(bootstrap: str, catalogue: Catalogue, now_ms: int, window_seconds: float) -> Outlook:
    """How every destination is doing.

    Raises:
        KafkaException: if the brokers refuse or do not answer.
        TimeoutError: if they fall silent.
    """
    with OffsetRangeReader(bootstrap, CLIENT, group=group_name("retry")) as reader:
        receipts = _receipts(reader, now_ms - int(window_seconds * 1000))
        leads_to = {name: pipe.destination for name, pipe in catalogue.pipes.items()}
        waiting, sampled = _waiting(reader, leads_to)
    window = (now_ms - receipts.since_ms) / 1000
    return Outlook(
        at_ms=now_ms,
        window_seconds=round(window, 1),
        receipts_sampled=receipts.sampled,
        waiting_sampled=sampled,
        destinations=states(catalogue.destinations, receipts.found, waiting, window),
    )


def _receipts(reader: OffsetRangeReader, since_ms: int) -> _Receipts:
    """The receipts from a moment on, or from the first later one on which all partitions can be read."""
    asked = reader.since(reader.whole([Topic.RECEIPTS]), since_ms)
    spans = [span._replace(start=max(span.start, span.end - MOST_RECEIPTS)) for span in asked]
    found: list[Seen] = []
    for span, before in zip(spans, asked, strict=True):
        messages = list(reader.read([span]))
        if span != before and messages:
            since_ms = max(since_ms, messages[0].timestamp()[1])
        found += [one for message in messages if (one := seen(message.value() or b""))]
    return _Receipts([one for one in found if one.departed_ms >= since_ms], since_ms, spans != asked)


def _waiting(reader: OffsetRangeReader, leads_to: dict[str, str]) -> tuple[dict[str, Waiting], bool]:
    """What waits by destination, and whether that is an estimate."""
    found: dict[str, Waiting] = defaultdict(Waiting)
    sampled = False
    for span in reader.committed(reader.whole(RETRY_DELAYS)):
        parts = slices(span, MOST_WAITING)
        stands_for = scale(span, parts)
        sampled |= stands_for > 1
        for message in reader.read(parts):
            texts = _texts(message)
            name = texts.get(h.DESTINATION) or leads_to.get(texts.get(h.PIPE, ""), "")
            first = texts.get(h.FIRST_TRY, "")
            first_ms = int(first) if first.isascii() and first.isdigit() else message.timestamp()[1]
            found[name].add(first_ms, stands_for)
    return found, sampled


def _texts(message: Message) -> dict[str, str]:
    """The headers that matter here."""
    headers = dict(cast(list[tuple[str, bytes | None]], message.headers() or []))
    wanted = (h.DESTINATION, h.PIPE, h.FIRST_TRY)
    return {name: text.decode(errors="replace") for name in wanted if (text := headers.get(name))}
