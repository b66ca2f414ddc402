"""The meter of a whole side: late and skewed events, waiting events, and an outage of the meter."""

import json
import time
import urllib.request
from collections import Counter
from datetime import UTC, datetime

import pytest

from scripts.load.fault_injection import FaultInjection, parse_rule
from scripts.load.receiver import Receiver, running
from shared.contracts.alarms import AlarmKind
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import Node
from shared.contracts.topics import RETRY_DELAYS, Topic
from tests.harness.live_side import LiveSide
from tests.harness.meter_processes import Meter, shown
from tests.harness.waiting import eventually
from tests.integration.held_event import post
from tests.integration.tenant import judged, key_of, minute_now, opened, receipts_of

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def event(event_id: str, time_ms: int) -> bytes:
    moment = datetime.fromtimestamp(time_ms / 1_000, UTC).isoformat(timespec="milliseconds")
    body = {"specversion": "1.0", "id": event_id, "source": "/test", "type": "t", "time": moment, "data": {}}
    return json.dumps(body).encode()


def send_at(live: LiveSide, name: str, event_id: str, time_ms: int) -> None:
    request = urllib.request.Request(
        f"{live.url}/v1/events",
        event(event_id, time_ms),
        {"Authorization": f"Bearer {key_of(name)}", "Content-Type": "application/cloudevents+json"},
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        assert reply.status == 202


@pytest.mark.proof
def test_late_and_skewed_events_count_in_the_minute_and_class_that_the_rule_says(
    live: LiveSide, meter: Meter
) -> None:
    """The event time's minute if within 5 minutes before and 30 s after receipt; else the receipt's."""
    name = "skewed"
    offsets = {
        "hours-ago": (-5 * HOUR_MS, True),
        "days-ago": (-3 * DAY_MS, True),
        "days-ahead": (3 * DAY_MS, True),
        "minutes-ago": (-4 * MINUTE_MS, False),
        "seconds-ago": (-30_000, False),
        "seconds-ahead": (28_000, False),  # 30 s minus the time to reach collect
        "too-far-ahead": (45_000, True),
    }
    with running(Receiver()) as receiver:
        opened(live, name, receiver)
        base = int(time.time() * 1_000)
        for event_id, (offset, _) in offsets.items():
            send_at(live, name, event_id, int(time.time() * 1_000) + offset)
        eventually(lambda: set(offsets) <= receiver.counts(f"/{name}").seen, 120, "all have arrived")
    seen = {
        event_id: (minute, entered, since, receipt.departed_ms)
        for receipt in receipts_of(live.bootstrap, name)
        for event_id, minute, entered, since in zip(
            receipt.ids, receipt.minutes, receipt.received_ms, receipt.since_ms, strict=True
        )
    }
    for event_id, (_, late) in offsets.items():
        minute, entered, since, _ = seen[event_id]
        assert (since == entered) == late, event_id
        assert minute == since // MINUTE_MS, event_id
    cards = judged(meter, name, base // MINUTE_MS - 6, minute_now() + 1)
    assert sum(card.late for card in cards) == sum(late for _, late in offsets.values()), shown(cards)
    expected = Counter(minute for minute, *_ in seen.values())
    assert {card.minute: card.delivered for card in cards} == expected
    lags = [
        lag
        for card in cards
        for node in card.nodes
        for edge in (node.lag_in, node.lag_out)
        for lag in (edge.p50, edge.p95, edge.p99)
        if lag is not None
    ]
    assert lags
    assert min(lags) >= 0
    assert all((node.process_ms or 0) >= 0 for card in cards for node in card.nodes)


@pytest.mark.proof
def test_an_event_that_waits_for_its_retry_is_waiting_then_delivered_never_lost_and_not_good(
    live: LiveSide, meter: Meter
) -> None:
    name = "awaited"
    with running(Receiver()) as receiver:
        opened(live, name, receiver)
        receiver.misbehaviour = FaultInjection([parse_rule("503=100%")])
        before = minute_now()
        assert post(live.url, "awaited", key_of(name)) == 202
        eventually(lambda: waiting(meter, name, before) == 1, 60, "the card says that it waits", 0.5)
        receiver.misbehaviour = FaultInjection()
        longest = RETRY_DELAYS[Topic.RETRY_IN_30S].total_seconds() * 2 + 30
        eventually(lambda: "awaited" in receiver.counts(f"/{name}").seen, longest, "it arrives")
    cards = judged(meter, name, before - 1, minute_now())
    (card,) = [card for card in cards if any(row.node == Node.RETRY and row.taken for row in card.hops)]
    assert card.delivered == card.total == card.good + 1, shown(card)
    assert (card.waiting, card.lost, card.doubled) == (0, 0, 0), shown(card)
    assert card.spent == (card.good / card.total < 0.95)
    raised = [alarm for alarm in meter.alarms(name) if alarm.kind in (AlarmKind.LOSS, AlarmKind.DOUBLED)]
    assert not raised, shown(raised)


def waiting(meter: Meter, name: str, since: int) -> int:
    return sum(card.waiting for card in meter.minutes(name, since, minute_now()))


def says_behind(meter: Meter) -> bool:
    """Whether it reports that it is behind; false also while it does not answer."""
    try:
        return meter.now().behind
    except OSError:
        return False


@pytest.mark.proof
def test_a_meter_that_was_down_says_that_it_is_behind_and_catches_up(live: LiveSide, meter: Meter) -> None:
    name = "unwatched"
    with running(Receiver()) as receiver:
        opened(live, name, receiver)
        first = minute_now()
        live.hold_down("observe")
        ids = [f"unwatched-{number}" for number in range(20)]
        for event_id in ids:
            assert post(live.url, event_id, key_of(name)) == 202
        eventually(lambda: set(ids) <= receiver.counts(f"/{name}").seen, 120, "all have arrived")
        live.let_up("observe")
    eventually(lambda: says_behind(meter), 60, "it is behind until its first look", every=0.02)
    eventually(meter.ready, 60, "observe is ready again")
    cards = judged(meter, name, first - 1, minute_now())
    assert sum(card.delivered for card in cards) == len(ids) + 1, shown(cards)
    eventually(lambda: not meter.now().behind, 60, "it is up to date again")
