"""Both readers of the chain's topics, audit and observe, put every record into the same stage."""

from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

import numpy as np
import pytest
from pyspark.sql import SparkSession

from pipelines.control.observe.ledger import record_parser
from shared.contracts.event_hash import id_hash
from shared.contracts.ledger import Stage, Tally
from shared.contracts.receipts import Result
from shared.contracts.stages import RESULT_STAGES, TOPIC_STAGES
from shared.contracts.topics import RETRY_DELAYS, TALLIED, Topic
from tests.spark.audit_records import MINUTE, Record, audited, collected, event, receipt


class Counted(NamedTuple):
    """An event as a reader counts it."""

    stage: Stage
    name: str
    id_hash: int
    tenant: str = "acme"
    minute: int = MINUTE


def of(stage: Stage, name: str, *ids: str) -> list[Counted]:
    return [Counted(stage, name, id_hash(each)) for each in ids or ("e",)]


def copy(pipe: str, **more: Any) -> Record:
    return event(Topic.OUTBOUND, hifi_pipe=pipe, **more)


def without(record: Record, header: str) -> Record:
    record.headers = [(key, value) for key, value in record.headers if key != header]
    return record


def quarantined(origin: str, **more: Any) -> Record:
    return event(Topic.QUARANTINE, hifi_origin=origin, **more)


WITH_PIPE = (Topic.RETRY_OUT, *RETRY_DELAYS, Topic.DEAD_LETTER)
NOT_ITEMS = b'{"id":"x"}', b"7", b"null", b'{"id":"x","source":"s","type":"t","minute":1}'
NEEDED = ("ce_id", "hifi_tenant", "hifi_minute", "hifi_received")


def rows() -> Iterator[tuple[str, Record, list[Counted]]]:
    """The truth table: description, record, and the events that it counts for."""
    yield "items", collected("a", "b"), of(Stage.COLLECTED, "player", "a", "b")
    mixed = collected("a")
    mixed.value = (mixed.value or b"")[:-1] + b"," + b",".join(NOT_ITEMS) + b"]"
    yield "items that are none", mixed, of(Stage.COLLECTED, "player", "a")
    for header in ("hifi_tenant", "hifi_source", "hifi_received"):
        yield f"items without {header}", without(collected("a"), header), []
    yield "one object", Record(Topic.COLLECTED, b'{"id":"x"}', collected().headers), []

    yield "event", event(Topic.EVENTS), of(Stage.EVENTS, "")
    yield "event with what it ignores", event(Topic.EVENTS, hifi_letter="0/1"), of(Stage.EVENTS, "")
    yield "unmatched", event(Topic.UNMATCHED), of(Stage.UNMATCHED, "")
    for topic in WITH_PIPE:
        yield topic, event(topic, hifi_pipe="p"), of(TOPIC_STAGES[topic], "p")
        several = event(topic, hifi_pipe="p", hifi_pipes="q,p", hifi_letter="0/1")
        yield f"{topic} of a further copy and letter", several, of(TOPIC_STAGES[topic], "p")
    for topic in (Topic.OUTBOUND, *WITH_PIPE):
        yield f"{topic} without a pipe", event(topic, hifi_pipes="a,b"), []
    for topic in (Topic.EVENTS, Topic.UNMATCHED, Topic.OUTBOUND, *WITH_PIPE):
        for header in NEEDED:
            yield f"{topic} without {header}", without(event(topic, hifi_pipe="p"), header), []
    yield "no minute", event(Topic.EVENTS, hifi_minute="soon"), []
    yield "no time", event(Topic.EVENTS, hifi_received="now"), []

    claims = [*of(Stage.FIRST, "a"), *of(Stage.CLAIMED, "b"), *of(Stage.CLAIMED, "c")]
    yield "only copy", copy("a"), of(Stage.FIRST, "a")
    yield "only copy of one named", copy("a", hifi_pipes="a"), of(Stage.FIRST, "a")
    yield "first copy of three", copy("a", hifi_pipes="a,b,c"), claims
    yield "copy for another", copy("b", hifi_pipes="a"), of(Stage.FURTHER, "b")
    yield "copy for another of three", copy("b", hifi_pipes="a,b,c"), of(Stage.FURTHER, "b")
    yield "no name in the names", copy("a", hifi_pipes=""), of(Stage.FURTHER, "a")
    yield "letter", copy("a", hifi_letter="0/1"), of(Stage.LETTER, "a")
    yield "letter of a first copy", copy("a", hifi_letter="0/1", hifi_pipes="a,b"), of(Stage.LETTER, "a")
    yield "letter of a further", copy("b", hifi_letter="0/1", hifi_pipes="a"), of(Stage.LETTER, "b")

    for result in get_args(Result):
        yield f"receipt {result}", receipt("a", "b", result=result), of(RESULT_STAGES[result], "p", "a", "b")
    yield "no receipt", Record(Topic.RECEIPTS, b"{}"), []
    yield "receipt of no known result", receipt("a", result="lost"), []

    for origin in (Topic.COLLECTED, Topic.EVENTS, Topic.OUTBOUND, Topic.RETRY_IN_5M):
        yield f"quarantined from {origin}", quarantined(f"{origin}/0/7"), of(Stage.QUARANTINED, origin)
    letter = quarantined("outbound/0/7", hifi_pipe="p", hifi_letter="0/1")
    yield "quarantined letter", letter, of(Stage.QUARANTINED, "outbound")


TABLE = list(rows())


@pytest.fixture(scope="module")
def tallied(spark: SparkSession) -> dict[int, list[Tally]]:
    """Audit's tallies of every row by number, all in one job."""
    found = audited(spark, [[record] for _, record, _ in TABLE])
    return {
        number: [tally for each in ranges for tally in each.tallies] for number, ranges in enumerate(found)
    }


def by_audit(tallies: list[Tally]) -> list[Counted]:
    return [
        Counted(tally.stage, tally.name, int(number), tally.tenant, tally.minute)
        for tally in tallies
        for number in np.frombuffer(tally.hashes, "<u8")
    ]


def by_observe(record: Record) -> list[Counted]:
    heads = [(key, text.encode() if isinstance(text, str) else text) for key, text in record.headers]
    seen = record_parser.events_in(
        record_parser.Record(record.topic, 0, 0, record.written_ms, heads, record.value)
    )
    return [Counted(each.stage, each.name, id_hash(each.id), each.tenant, each.minute) for each in seen]


@pytest.mark.parametrize("number", range(len(TABLE)), ids=[title for title, _, _ in TABLE])
def test_audit_and_observe_count_a_record_alike(number: int, tallied: dict[int, list[Tally]]) -> None:
    _, record, expected = TABLE[number]
    assert sorted(by_audit(tallied[number])) == sorted(expected), "audit"
    assert sorted(by_observe(record)) == sorted(expected), "observe"


def test_the_table_has_every_tallied_topic_and_every_stage() -> None:
    assert {record.topic for _, record, _ in TABLE} == set(TALLIED)
    assert {each.stage for _, _, expected in TABLE for each in expected} == set(Stage)
