"""Records of each tallied topic in the ledger: tenant, minute, place and lag."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from shared.contracts.event_hash import id_hash
from shared.contracts.lag_histogram import merged
from shared.contracts.ledger import Range, Stage, Tally
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
    replaced,
    time_text,
)
from tests.spark.events import headers

DAY_MS = int(timedelta(days=1).total_seconds() * 1000)

Ledger = list[list[Range]]
"""The ranges of each list of records that a test is `given`."""


@pytest.fixture(scope="module")
def ledgers(spark: SparkSession, given: dict[str, tuple[list[Record], ...]]) -> dict[str, Ledger]:
    """The ledgers of each test's records."""
    found = iter(audited(spark, [records for cases in given.values() for records in cases]))
    return {test: [next(found) for _ in cases] for test, cases in given.items()}


@pytest.fixture
def ledger(ledgers: dict[str, Ledger], request: pytest.FixtureRequest) -> Ledger:
    return ledgers[request.node.nodeid]


def hashes(tally: Tally) -> list[int]:
    return sorted(np.frombuffer(tally.hashes, "<u8").tolist())


@pytest.mark.given([collected("a", "b", "c"), collected("d")])
def test_items_of_a_collected_record_count_for_their_source(ledger: Ledger) -> None:
    ((found,),) = ledger
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


@pytest.mark.given(
    [
        event(topic, "x", **({"hifi_pipe": name} if name else {}))  # type: ignore[arg-type]  # headers alone
        for topic, (_, name) in _STAGES.items()
    ]
)
def test_record_of_one_event_counts_as_its_topic_says(ledger: Ledger) -> None:
    found = {each.topic: each for each in ledger[0]}
    assert found.keys() == _STAGES.keys()
    for topic, (stage, name) in _STAGES.items():
        tally = only([found[topic]])
        assert (tally.stage, tally.tenant, tally.minute, tally.name) == (stage, "acme", MINUTE, name)
        assert (tally.count, hashes(tally), tally.lag_out) == (1, [id_hash("x")], lag(290))
        assert (tally.first_ms, tally.last_ms, tally.lag_in, tally.inside) == (WRITTEN, WRITTEN, {}, {})


@pytest.mark.given(
    [event(Topic.RETRY_IN_30S, hifi_pipe="p", hifi_not_before=str(RECEIVED + n)) for n in (5, 9, 7)]
)
def test_waiting_tallies_have_the_latest_due_time(ledger: Ledger) -> None:
    assert only(ledger[0]).due_ms == RECEIVED + 9


@pytest.mark.given(
    [
        *(event(Topic.OUTBOUND, "x", hifi_pipe=pipe, hifi_pipes="a,b,c") for pipe in "abc"),
        event(Topic.OUTBOUND, "y", hifi_pipe="a", hifi_pipes="a,b,c", hifi_letter="0/7"),
    ]
)
def test_copies_of_an_event_are_distinguished_and_the_first_names_the_others(ledger: Ledger) -> None:
    found = by_stage(ledger[0])
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


@pytest.mark.given([receipt("a", "b", result=result) for result in _ENDS])
def test_receipt_counts_each_of_its_events(ledger: Ledger) -> None:
    found = by_stage(ledger[0])
    assert found.keys() == set(_ENDS.values())
    for (tally,) in found.values():
        assert (tally.name, tally.destination, tally.count) == ("p", "d", 2)
        assert hashes(tally) == sorted((id_hash("a"), id_hash("b")))
        assert tally.lag_out == dict.fromkeys(lag(340), 2)
        assert (tally.breaker, tally.lane) == ("closed", "fast")


_INSIDE_MS = (0, 999, 1000, 1001, 5000)


@pytest.mark.given([receipt(str(n), departed_ms=RECEIVED + ms) for n, ms in enumerate(_INSIDE_MS)])
def test_delivered_within_a_second_of_receiving_is_good_to_the_millisecond(ledger: Ledger) -> None:
    tally = only(ledger[0])
    assert (tally.count, tally.good) == (5, 3)
    assert tally.inside == merged(map(lag, _INSIDE_MS))


_FAILED = [
    receipt("a", "b", result="retry", status=503, reason="unavailable: try later"),
    receipt("c", result="retry", status=None, reason="connect: refused", breaker="open", lane="slow"),
    receipt("d", result="retry", status=503, reason="unavailable: other words"),
]


@pytest.mark.given(_FAILED, _FAILED[:2])
def test_failures_say_status_and_word(ledger: Ledger) -> None:
    whole, newest = map(only, ledger)
    assert whole.reasons == {"- connect": 1, "503 unavailable": 3}
    assert (newest.breaker, newest.lane) == ("open", "slow")


_REFUSED: dict[str, Any] = {
    "hifi_pipe": "p",
    "hifi_status": "404",
    "hifi_reason": "refused: gone: for good",
}
_AWAY = _REFUSED | {"hifi_status": "", "hifi_reason": "time_over: a day"}
_DIED_FIRST = event(Topic.DEAD_LETTER, "d", **_REFUSED)
_DIED_AGAIN = [
    *(event(Topic.DEAD_LETTER, each, hifi_letter="0/7", **_REFUSED) for each in "ab"),
    event(Topic.DEAD_LETTER, "c", hifi_letter="0/7", **_AWAY),
]
_WAITING_AGAIN = event(Topic.RETRY_IN_30S, "e", hifi_letter="0/7", **_REFUSED)


@pytest.mark.given([_DIED_FIRST, *_DIED_AGAIN], [_DIED_FIRST], [_WAITING_AGAIN])
def test_a_dead_letter_says_why_it_died_only_if_it_was_replayed_before(ledger: Ledger) -> None:
    together, first, waiting = map(only, ledger)
    assert (together.count, together.reasons) == (4, {"404 refused": 2, "- time_over": 1})
    assert first.reasons == {}
    assert waiting.reasons == {}


@pytest.mark.given([receipt("a", since_ms=[])])
def test_receipt_without_the_time_to_count_from_counts_from_receiving(ledger: Ledger) -> None:
    assert only(ledger[0]).lag_out == lag(300)


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
"""By milliseconds of an event's time after its receipt: the count of late ones, and the lag, milliseconds."""


def _skewed(skew_ms: int) -> list[Record]:
    of, time = f"skewed{skew_ms}", time_text(RECEIVED + skew_ms)
    return [collected("a", time=time, tenant=of), event(Topic.EVENTS, "a", time=time, hifi_tenant=of)]


@pytest.mark.given([record for skew_ms in _SKEWS for record in _skewed(skew_ms)])
def test_lag_counts_from_the_moment_that_names_the_minute_and_is_never_negative(ledger: Ledger) -> None:
    found = Counter((t.tenant, t.late, str(t.lag_out)) for r in ledger[0] for t in r.tallies)
    expected = ((f"skewed{skew_ms}", late, str(lag(ms))) for skew_ms, (late, ms) in _SKEWS.items())
    assert found == dict.fromkeys(expected, 2)


@pytest.mark.given([event(Topic.EVENTS, time="yesterday")])
def test_an_invalid_time_counts_from_receipt(ledger: Ledger) -> None:
    tally = only(ledger[0])
    assert (tally.late, tally.lag_out) == (0, lag(250))


_UNKNOWN = headers({"hifi_origin": "collected/1/2", "hifi_tenant": "acme"})


@pytest.mark.given(
    [
        event(Topic.QUARANTINE, "x", hifi_origin="events/0/7", minute=MINUTE - 3),
        Record(Topic.QUARANTINE, b"?", _UNKNOWN),
        Record(Topic.QUARANTINE, None),
    ]
)
def test_a_quarantined_record_counts_with_its_id_if_its_headers_have_it(ledger: Ledger) -> None:
    tallies = by_stage(ledger[0])[Stage.QUARANTINED]
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


@pytest.mark.given(POISON)
def test_poison_counts_for_the_range_alone(ledger: Ledger) -> None:
    (found,) = ledger
    assert [tally for each in found for tally in each.tallies] == []
    assert sum(each.end - each.start for each in found) == len(POISON)


_TEXT = "broken text"
_NO_UTF8 = b"\xff\xc3("
_AS_READ = "\ufffd\ufffd("
"""The replaced bytes as observe reads them: `bytes.decode(errors="replace")`."""


@pytest.mark.given(
    [
        *(
            replaced(event(topic, _TEXT, hifi_tenant=_TEXT, hifi_pipe=_TEXT), _TEXT, _NO_UTF8)
            for topic in _STAGES
        ),
        replaced(event(Topic.QUARANTINE, hifi_tenant=_TEXT, hifi_origin=_TEXT), _TEXT, _NO_UTF8),
        replaced(collected("a", tenant=_TEXT), _TEXT, _NO_UTF8),
        replaced(receipt(_TEXT, tenant=_TEXT, pipe=_TEXT, destination=_TEXT), _TEXT, _NO_UTF8),
    ]
)
def test_texts_that_are_no_utf8_are_read_as_observe_does_and_stop_nothing(ledger: Ledger) -> None:
    tallies = [tally for each in ledger[0] for tally in each.tallies]
    assert {(tally.tenant, tally.count) for tally in tallies} == {(_AS_READ, 1)}
    assert len(tallies) == len(_STAGES) + 3
    names = {tally.stage: tally.name for tally in tallies}
    assert names[Stage.FIRST] == names[Stage.QUARANTINED] == names[Stage.DELIVERED] == _AS_READ
    assert hashes(by_stage(ledger[0])[Stage.EVENTS][0]) == [id_hash(_AS_READ)]


_WATCHED = '[{"field":"f","kind":"categories","values":["broken text","\\ud800"]}]'


@pytest.mark.given(
    [replaced(event(Topic.OUTBOUND, hifi_pipe="p", hifi_pipes="p", hifi_watched=_WATCHED), _TEXT, _NO_UTF8)]
)
def test_watched_values_that_are_no_text_are_counted(ledger: Ledger) -> None:
    assert only(ledger[0]).watched["f", "categories"].texts == {_AS_READ: 1, "?": 1}


_BAD = b'{"id":"c"}', b"7", b"null", b'{"id":"d","data_base64":"!"}'
_GOOD = collected("a", "b")


@pytest.mark.given([replace(_GOOD, value=(_GOOD.value or b"")[:-1] + b"," + b",".join(_BAD) + b"]")])
def test_good_items_beside_a_bad_one_count(ledger: Ledger) -> None:
    assert hashes(only(ledger[0])) == sorted((id_hash("a"), id_hash("b")))


@pytest.mark.given(
    [
        event(Topic.EVENTS, f"{tenant}-{n}", hifi_tenant=f"t{tenant}", minute=MINUTE + n % 2)
        for n in range(4)
        for tenant in range(300)
    ]
)
def test_records_of_many_tenants_and_minutes_are_kept_apart(ledger: Ledger) -> None:
    ((found,),) = ledger
    assert len(found.tallies) == 600
    assert all((t.count, t.last - t.first) == (2, 600) for t in found.tallies)
