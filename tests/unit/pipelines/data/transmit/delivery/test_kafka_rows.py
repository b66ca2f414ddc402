"""Each event's fields in a receipt."""

import msgspec
import pytest

from pipelines.data.transmit.delivery.decide import Delivered, Duplicate, End
from pipelines.data.transmit.delivery.kafka_rows import RECEIPT_EVENTS, SettledEvents, rows
from pipelines.data.transmit.events import Event
from shared.contracts.receipts import Receipt
from shared.contracts.timestamps import format_time
from shared.contracts.tracing import own_traceparent
from tests.unit.pipelines.data.transmit.transmit_events import event

RECEIVED_MS = 1_740_000_000_000


def receipts(events: list[Event], outcome: End) -> list[Receipt]:
    settled = SettledEvents(
        events=events,
        outcome=outcome,
        tenant="acme",
        destination="shop",
        pipe="p1",
        attempt=1,
        started_ms=RECEIVED_MS + 5,
        departed_ms=RECEIVED_MS + 6,
    )
    return [msgspec.json.decode(row.value or b"", type=Receipt) for row in rows(settled)]


@pytest.mark.parametrize("outcome", [Delivered(), Duplicate()])
@pytest.mark.parametrize(
    ("time", "since_ms"),
    [
        (format_time(RECEIVED_MS - 2_345), RECEIVED_MS - 2_345),
        (format_time(RECEIVED_MS - 300_000), RECEIVED_MS - 300_000),
        (format_time(RECEIVED_MS - 300_001), RECEIVED_MS),
        (format_time(RECEIVED_MS + 30_001), RECEIVED_MS),
        ("yesterday", RECEIVED_MS),
        (None, RECEIVED_MS),
    ],
    ids=["on time", "just on time", "late", "early", "no time", "without"],
)
def test_lags_count_from_the_moment_that_names_the_minute(
    time: str | None, since_ms: int, outcome: End
) -> None:
    other = event(2, tenant="acme", received=RECEIVED_MS + 7)
    (found,) = receipts([event(1, time=time, tenant="acme", received=RECEIVED_MS), other], outcome)
    assert (found.tenant, found.since_ms) == ("acme", [since_ms, RECEIVED_MS + 7])


def test_a_receipt_names_the_tenant_and_so_many_events_at_most() -> None:
    found = receipts([event(n, tenant="acme") for n in range(RECEIPT_EVENTS + 2)], Delivered())
    assert [(one.tenant, len(one.ids), len(one.since_ms)) for one in found] == [
        ("acme", RECEIPT_EVENTS, RECEIPT_EVENTS),
        ("acme", 2, 2),
    ]


def test_a_receipt_carries_the_traceparents_of_traced_events_only() -> None:
    sampled = own_traceparent("acme", "e1")
    texts = [sampled, sampled.removesuffix("1") + "0", "nonsense", None]
    events = [event(n, traceparent=text) for n, text in enumerate(texts, 1)]
    (found,) = receipts(events, Delivered())
    assert found.traces == {"e1": sampled}
    assert b'"traceparent":"%b"' % sampled.encode() in events[0].attributes, "destinations get it"
