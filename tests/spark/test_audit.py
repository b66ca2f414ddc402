"""Records of each tallied topic in the ledger: tenant, minute, place and lag."""

from collections import Counter
from datetime import timedelta
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from shared.contracts.event_hash import id_hash
from shared.contracts.lag_histogram import merged
from shared.contracts.ledger import Stage, Tally
from shared.contracts.topics import Topic
from tests.spark.audit_records import (
    MINUTE,
    RECEIVED,
    WRITTEN,
    Record,
    audited,
    by_stage,
    collected,
    event,
    lag,
    only,
    receipt,
    time_text,
)
from tests.spark.events import headers

DAY_MS = int(timedelta(days=1).total_seconds() * 1000)


def hashes(tally: Tally) -> list[int]:
    return sorted(np.frombuffer(tally.hashes, "<u8").tolist())


def test_items_of_a_collected_record_count_for_their_source(spark: SparkSession) -> None:
    (found,) = audited(spark, collected("a", "b", "c"), collected("d"))
    (tally,) = found.tallies
    assert (found.topic, found.start, found.end, found.newest_ms) == (Topic.COLLECTED, 0, 2, WRITTEN)
    assert (tally.stage, tally.tenant, tally.minute, tally.name) == (
        Stage.COLLECTED,
        "acme",
        MINUTE,
        "player",
    )
    assert (tally.count, tally.first, tally.last, tally.late) == (4, 0, 1, 0)
    assert hashes(tally) == sorted(id_hash(i) for i in "abcd")
    assert tally.hash_sum == sum(id_hash(i) for i in "abcd") % 2**64
    assert tally.lag_in == dict.fromkeys(lag(40), 4)
    assert tally.lag_out == dict.fromkeys(lag(290), 4)


_STAGES = {
    Topic.EVENTS: (Stage.EVENTS, ""),
    Topic.UNMATCHED: (Stage.UNMATCHED, ""),
    Topic.OUTBOUND: (Stage.FIRST, "p"),
    Topic.RETRY_OUT: (Stage.RETRIED, "p"),
    Topic.RETRY_IN_30S: (Stage.WAITING, "p"),
    Topic.RETRY_IN_5M: (Stage.WAITING, "p"),
    Topic.RETRY_IN_1H: (Stage.WAITING, "p"),
    Topic.DEAD_LETTER: (Stage.DEAD_LETTER, "p"),
}


def test_record_of_one_event_counts_as_its_topic_says(spark: SparkSession) -> None:
    piped: dict[Topic, dict[str, Any]] = {
        topic: {"hifi_pipe": name} if name else {} for topic, (_, name) in _STAGES.items()
    }
    found = {each.topic: each for each in audited(spark, *(event(t, "x", **piped[t]) for t in _STAGES))}
    assert found.keys() == _STAGES.keys()
    for topic, (stage, name) in _STAGES.items():
        tally = only([found[topic]])
        assert (tally.stage, tally.tenant, tally.minute, tally.name) == (stage, "acme", MINUTE, name)
        assert (tally.count, hashes(tally), tally.lag_out) == (1, [id_hash("x")], lag(290))
        assert (tally.first_ms, tally.last_ms, tally.lag_in, tally.inside) == (WRITTEN, WRITTEN, {}, {})


def test_waiting_tallies_have_the_latest_due_time(spark: SparkSession) -> None:
    waiting = (event(Topic.RETRY_IN_30S, hifi_pipe="p", hifi_not_before=str(RECEIVED + n)) for n in (5, 9, 7))
    assert only(audited(spark, *waiting)).due_ms == RECEIVED + 9


def test_copies_of_an_event_are_distinguished_and_the_first_names_the_others(
    spark: SparkSession,
) -> None:
    copies = [event(Topic.OUTBOUND, "x", hifi_pipe=pipe, hifi_pipes="a,b,c") for pipe in "abc"]
    letter = event(Topic.OUTBOUND, "y", hifi_pipe="a", hifi_pipes="a,b,c", hifi_letter="0/7")
    found = by_stage(audited(spark, *copies, letter))
    assert {stage: sorted(t.name for t in tallies) for stage, tallies in found.items()} == {
        Stage.FIRST: ["a"],
        Stage.FURTHER: ["b", "c"],
        Stage.CLAIMED: ["b", "c"],
        Stage.LETTER: ["a"],
    }
    assert all(hashes(t) == [id_hash("x")] for s in (Stage.FIRST, Stage.CLAIMED) for t in found[s])
    assert [t.lag_out for t in found[Stage.CLAIMED]] == [{}, {}]


_ENDS = {
    "delivered": Stage.DELIVERED,
    "retry": Stage.RETRYING,
    "dead": Stage.DEAD,
    "duplicate": Stage.DROPPED,
}


def test_receipt_counts_each_of_its_events(spark: SparkSession) -> None:
    found = by_stage(audited(spark, *(receipt("a", "b", result=result) for result in _ENDS)))
    assert found.keys() == set(_ENDS.values())
    for (tally,) in found.values():
        assert (tally.name, tally.destination, tally.count) == ("p", "d", 2)
        assert hashes(tally) == sorted((id_hash("a"), id_hash("b")))
        assert tally.lag_out == dict.fromkeys(lag(340), 2)
        assert (tally.breaker, tally.lane) == ("closed", "fast")


def test_delivered_within_a_second_of_receiving_is_good_to_the_millisecond(spark: SparkSession) -> None:
    times = [receipt(str(n), departed_ms=RECEIVED + ms) for n, ms in enumerate((0, 999, 1000, 1001, 5000))]
    tally = only(audited(spark, *times))
    assert (tally.count, tally.good) == (5, 3)
    assert tally.inside == merged(lag(ms) for ms in (0, 999, 1000, 1001, 5000))


def test_failures_say_status_and_word(spark: SparkSession) -> None:
    failed = [
        receipt("a", "b", result="retry", status=503, reason="unavailable: try later"),
        receipt("c", result="retry", status=None, reason="connect: refused", breaker="open", lane="slow"),
        receipt("d", result="retry", status=503, reason="unavailable: other words"),
    ]
    tally = only(audited(spark, *failed))
    assert tally.reasons == {"- connect": 1, "503 unavailable": 3}
    newest = only(audited(spark, *failed[:2]))
    assert (newest.breaker, newest.lane) == ("open", "slow")


def test_a_dead_letter_says_why_it_died_only_if_it_was_replayed_before(spark: SparkSession) -> None:
    refused: dict[str, Any] = {
        "hifi_pipe": "p",
        "hifi_status": "404",
        "hifi_reason": "refused: gone: for good",
    }
    away = refused | {"hifi_status": "", "hifi_reason": "time_over: a day"}
    again = [event(Topic.DEAD_LETTER, each, hifi_letter="0/7", **refused) for each in "ab"]
    again.append(event(Topic.DEAD_LETTER, "c", hifi_letter="0/7", **away))
    first = event(Topic.DEAD_LETTER, "d", **refused)
    tally = only(audited(spark, first, *again))
    assert (tally.count, tally.reasons) == (4, {"404 refused": 2, "- time_over": 1})
    assert only(audited(spark, first)).reasons == {}
    waiting = event(Topic.RETRY_IN_30S, "e", hifi_letter="0/7", **refused)
    assert only(audited(spark, waiting)).reasons == {}


def test_receipt_without_the_time_to_count_from_counts_from_receiving(spark: SparkSession) -> None:
    assert only(audited(spark, receipt("a", since_ms=[]))).lag_out == lag(300)


_SKEWS = {
    0: (0, 250),
    -30_000: (0, 30_250),
    30_000: (0, 0),
    30_001: (1, 250),
    -5 * 60_000: (0, 300_250),
    -5 * 60_000 - 1: (1, 250),
    3 * DAY_MS: (1, 250),
    -3 * DAY_MS: (1, 250),
}
"""By milliseconds of an event's time after its receipt: how many count as late, and its lag, milliseconds."""


def test_lag_counts_from_the_moment_that_names_the_minute_and_is_never_negative(spark: SparkSession) -> None:
    records: list[Record] = []
    for skew_ms in _SKEWS:
        of, time = f"skewed{skew_ms}", time_text(RECEIVED + skew_ms)
        records += [collected("a", time=time, tenant=of), event(Topic.EVENTS, "a", time=time, hifi_tenant=of)]
    found = Counter((t.tenant, t.late, str(t.lag_out)) for r in audited(spark, *records) for t in r.tallies)
    expected = ((f"skewed{skew_ms}", late, str(lag(ms))) for skew_ms, (late, ms) in _SKEWS.items())
    assert found == dict.fromkeys(expected, 2)


def test_an_invalid_time_counts_from_receipt(spark: SparkSession) -> None:
    tally = only(audited(spark, event(Topic.EVENTS, time="yesterday")))
    assert (tally.late, tally.lag_out) == (0, lag(250))


def test_a_quarantined_record_counts_with_its_id_if_its_headers_have_it(spark: SparkSession) -> None:
    known = event(Topic.QUARANTINE, "x", hifi_origin="events/0/7", minute=MINUTE - 3)
    unknown = Record(Topic.QUARANTINE, b"?", headers({"hifi_origin": "collected/1/2", "hifi_tenant": "acme"}))
    nothing = Record(Topic.QUARANTINE, None)
    tallies = by_stage(audited(spark, known, unknown, nothing))[Stage.QUARANTINED]
    told = {(t.tenant, t.minute, t.name, t.count, t.hash_sum, t.sketch.count) for t in tallies}
    assert told == {
        ("acme", MINUTE - 3, "events", 1, id_hash("x"), 1),
        ("acme", MINUTE, "collected", 1, 0, 0),
        ("", MINUTE, "", 1, 0, 0),
    }


POISON = [
    Record(Topic.COLLECTED, None),
    Record(Topic.COLLECTED, b"[{}]"),
    Record(Topic.COLLECTED, b"\xff", collected("a").headers),
    Record(Topic.COLLECTED, b"[", collected("a").headers),
    Record(Topic.COLLECTED, b"[]", collected("a").headers),
    Record(Topic.COLLECTED, b"[1,null,{}]", collected("a").headers),
    Record(Topic.EVENTS, None),
    event(Topic.EVENTS, hifi_minute="soon"),
    event(Topic.EVENTS, hifi_received="x"),
    event(Topic.OUTBOUND),
    event(Topic.RETRY_IN_5M),
    Record(Topic.RECEIPTS, None),
    Record(Topic.RECEIPTS, b"{"),
    Record(Topic.RECEIPTS, b'{"ids":["a"],"minutes":["b"]}'),
    receipt("a", result="eaten"),
    receipt(),
    receipt("a", minutes=[]),
]


def test_poison_counts_for_the_range_alone(spark: SparkSession) -> None:
    found = audited(spark, *POISON)
    assert [tally for each in found for tally in each.tallies] == []
    assert sum(each.end - each.start for each in found) == len(POISON)


def test_good_items_beside_a_bad_one_count(spark: SparkSession) -> None:
    whole = collected("a", "b")
    bad = b'{"id":"c"}', b"7", b"null", b'{"id":"d","data_base64":"!"}'
    whole.value = (whole.value or b"")[:-1] + b"," + b",".join(bad) + b"]"
    assert hashes(only(audited(spark, whole))) == sorted((id_hash("a"), id_hash("b")))


def test_records_of_many_tenants_and_minutes_are_kept_apart(spark: SparkSession) -> None:
    records = [
        event(Topic.EVENTS, f"{tenant}-{n}", hifi_tenant=f"t{tenant}", minute=MINUTE + n % 2)
        for n in range(4)
        for tenant in range(300)
    ]
    (found,) = audited(spark, *records)
    assert len(found.tallies) == 600
    assert all((t.count, t.last - t.first) == (2, 600) for t in found.tallies)
