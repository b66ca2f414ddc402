"""A parsed record has the content that audit tallies."""

from collections.abc import Mapping

import msgspec
import pytest

from pipelines.control.observe.ledger.event_search import bounded, place_of
from pipelines.control.observe.ledger.record_parser import Record, events_in
from shared.contracts import headers as h
from shared.contracts.envelope import collected_item, encode_items
from shared.contracts.ledger import Stage
from shared.contracts.receipts import Receipt
from shared.kafka.offset_range_reader import OffsetRange

MINUTE = 29_000_000
NO_TEXTS: Mapping[str, str] = {}


def record(topic: str, value: bytes | None = b"{}", texts: Mapping[str, str] = NO_TEXTS) -> Record:
    usual = {
        h.CE_ID: "e1",
        h.TENANT: "acme",
        h.SOURCE: "shop",
        h.MINUTE: str(MINUTE),
        h.RECEIVED: str(MINUTE * 60_000),
    }
    headers = [(name, text.encode()) for name, text in (usual | dict(texts)).items()]
    return Record(topic, 2, 7, MINUTE * 60_000 + 5, [*headers, ("odd", None)], value)


def stages(of: Record) -> list[tuple[Stage, str, str]]:
    return [(seen.stage, seen.id, seen.name) for seen in events_in(of)]


def test_the_valid_items_of_a_request_are_parsed() -> None:
    usual = {"source": "s", "type": "t", "time": "2026-01-01T00:00:00Z"}
    good = encode_items([collected_item({"id": "ü\n", **usual}, minute=MINUTE)])
    mixed = good[:-1] + b',{"id":5},17]'
    (seen,) = events_in(record("collected", mixed))
    assert (seen.id, seen.tenant, seen.minute, seen.name) == ("ü\n", "acme", MINUTE, "shop")
    assert stages(record("collected", b'{"id":"x"}')) == []
    assert stages(record("collected", None)) == []


@pytest.mark.parametrize(("topic", "value"), [("collected", b"["), ("receipts", b'{"a":')])
def test_a_record_that_nests_too_deeply_to_decode_holds_nothing(topic: str, value: bytes) -> None:
    assert stages(record(topic, value * 100_000)) == []


def test_the_first_copy_is_the_one_of_the_first_pipe_and_claims_the_others() -> None:
    pipes = {h.PIPES: "a,b,c"}
    assert stages(record("outbound", texts={h.PIPE: "a"})) == [(Stage.FIRST, "e1", "a")]
    assert stages(record("outbound", texts={h.PIPE: "b", **pipes})) == [(Stage.FURTHER, "e1", "b")]
    assert stages(record("outbound", texts={h.PIPE: "a", **pipes})) == [
        (Stage.FIRST, "e1", "a"),
        (Stage.CLAIMED, "e1", "b"),
        (Stage.CLAIMED, "e1", "c"),
    ]
    assert stages(record("outbound", texts={h.PIPE: "a", h.LETTER: "0/4"})) == [(Stage.LETTER, "e1", "a")]
    assert stages(record("outbound")) == [], "no pipe, no copy"


def test_a_receipt_is_parsed_for_each_of_its_events() -> None:
    receipt = Receipt(
        destination="d",
        pipe="p",
        result="retry",
        ids=["e1", "e2"],
        minutes=[MINUTE, MINUTE + 1],
        status=None,
        tries=1,
        attempt=3,
        received_ms=[1, 2],
        departed_ms=3,
        tenant="acme",
        reason="failed: connect",
    )
    first, second = events_in(record("receipts", msgspec.json.encode(receipt)))
    assert (first.stage, first.id, first.minute, first.destination) == (Stage.RETRYING, "e1", MINUTE, "d")
    assert (second.id, second.minute) == ("e2", MINUTE + 1)
    assert first.text == "retry, no answer, attempt 3: failed: connect"
    assert stages(record("receipts", b"{}")) == []


@pytest.mark.parametrize(
    ("topic", "stage", "node"),
    [
        ("events", Stage.EVENTS, "ingest"),
        ("unmatched", Stage.UNMATCHED, "route"),
        ("retry_out", Stage.RETRIED, "retry"),
        ("retry_in.5m", Stage.WAITING, "transmit"),
        ("dead_letter", Stage.DEAD_LETTER, "transmit"),
    ],
)
def test_a_record_of_one_event_is_parsed_with_its_node(topic: str, stage: Stage, node: str) -> None:
    (seen,) = events_in(record(topic, texts={h.PIPE: "p", h.REASON: "busy: later"}))
    place = place_of(seen)
    assert (seen.stage, seen.name, place.node, place.pipe) == (stage, "p", node, "p")
    assert (place.topic, place.partition, place.offset, place.at_ms) == (topic, 2, 7, MINUTE * 60_000 + 5)


@pytest.mark.parametrize(
    ("origin", "node"),
    [("collected", "ingest"), ("events", "route"), ("outbound", "transmit"), ("retry_in.30s", "retry")],
)
def test_a_quarantined_record_is_parsed_with_its_node(origin: str, node: str) -> None:
    (seen,) = events_in(record("quarantine", texts={h.ORIGIN: f"{origin}/0/9", h.REASON: "no pipe"}))
    assert (seen.stage, seen.name, place_of(seen).node) == (Stage.QUARANTINED, origin, node)
    assert stages(Record("quarantine", 0, 0, 5, [(h.ORIGIN, b"events/0/9")], b"?")) == [], "nobody's"


def test_a_topic_that_is_not_tallied_holds_nothing() -> None:
    assert stages(record("config")) == []


def test_a_search_reads_the_newest_part_of_each_partition() -> None:
    spans = [OffsetRange("events", 0, 0, 1_000), OffsetRange("events", 1, 500, 600)]
    assert bounded(spans, 2_000) == spans
    cut = bounded(spans, 110)
    assert [(span.start, span.end) for span in cut] == [(900, 1_000), (590, 600)]
