import msgspec

from scripts.experiments.bench.lags import (
    Point,
    Stamp,
    collected_stamps,
    event_stamps,
    hop_lags,
    receipt_stamps,
    sampled,
)
from shared.contracts import headers
from shared.contracts.envelope import collected_item, encode_items
from shared.contracts.receipts import Receipt

TIME, TIME_MS = "2026-01-31T12:00:00.250Z", 1_769_860_800_250


def a_receipt(result: str) -> bytes:
    fields: dict[str, object] = {
        "destination": "d",
        "pipe": "p",
        "result": result,
        "ids": ["a", "b"],
        "minutes": [1, 1],
    }
    fields |= {"status": 200, "tries": 1, "attempt": 1, "received_ms": [10, 20], "departed_ms": 90}
    return msgspec.json.encode(msgspec.convert(fields, Receipt))


def test_a_collected_record_stamps_each_of_its_events_with_time_receipt_and_append() -> None:
    value = encode_items(
        [collected_item({"id": "a", "source": "/s", "type": "t", "time": TIME}, minute=1, data="{}")]
    )
    stamps = list(collected_stamps(value, {headers.RECEIVED: b"1000"}, 1005, every=1))
    assert set(stamps) == {
        Stamp("a", Point.TIME, TIME_MS),
        Stamp("a", Point.RECEIVED, 1000),
        Stamp("a", Point.COLLECTED, 1005),
    }


def test_an_event_record_is_found_by_its_id_header() -> None:
    stamps = list(event_stamps(Point.OUTBOUND, {headers.CE_ID: b"a"}, 7, every=1))
    assert stamps == [Stamp("a", Point.OUTBOUND, 7)]


def test_only_delivered_events_count_as_answered() -> None:
    delivered = list(receipt_stamps(a_receipt("delivered"), 95, every=1))
    assert Stamp("b", Point.DEPARTED, 90) in delivered
    assert Stamp("b", Point.RECEIPT, 95) in delivered
    assert not list(receipt_stamps(a_receipt("retry"), 95, every=1))


def test_lags_join_the_points_by_id_and_take_the_first_passage() -> None:
    stamps = [
        Stamp("a", Point.TIME, 0),
        Stamp("a", Point.OUTBOUND, 40),
        Stamp("a", Point.OUTBOUND, 30),
        Stamp("a", Point.DEPARTED, 70),
        Stamp("lost", Point.OUTBOUND, 1),
    ]
    found = {(hop.start, hop.end): hop.lag for hop in hop_lags(stamps)}
    assert found.keys() == {(Point.OUTBOUND, Point.DEPARTED), (Point.TIME, Point.DEPARTED)}
    assert found[(Point.OUTBOUND, Point.DEPARTED)].highest == 40
    assert found[(Point.TIME, Point.DEPARTED)].highest == 70


def test_the_sample_is_about_the_share_asked_for() -> None:
    assert 800 < sum(sampled(str(i), 10) for i in range(10_000)) < 1_200
    assert all(sampled(str(i), 1) for i in range(100))
