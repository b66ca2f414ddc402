"""The meter's figures for a load that arrived while other tests ran; its minutes have settled meanwhile."""

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from shared.contracts.lag_histogram import ERROR
from tests.harness.live_side import LiveSide
from tests.harness.meter_processes import Meter, shown
from tests.integration.counted_load import CountedLoad, counted_load
from tests.integration.tenant import judged, receipts_of


def nearest_rank(values: Sequence[int], share: float) -> int:
    return sorted(values)[max(1, math.ceil(share * len(values))) - 1]


def test_totals_and_p95_agree_with_the_receivers_own_record(
    live: LiveSide, meter: Meter, counted: CountedLoad
) -> None:
    agree(live, meter, counted)


@pytest.mark.proof
def test_they_agree_at_400_events_a_second_too(live: LiveSide, meter: Meter, tmp_path: Path) -> None:
    agree(live, meter, counted_load(live, tmp_path, rate=400, seconds=40))


def agree(live: LiveSide, meter: Meter, load: CountedLoad) -> None:
    """Check that the load's cards agree with its receipts and its receiver."""
    cards = judged(meter, load.tenant, load.first_minute, load.last_minute)
    events = len(load.sent) + 1  # the probe
    assert sum(card.collected for card in cards) == events, shown(cards)
    assert sum(card.total for card in cards) == sum(card.delivered for card in cards) == events
    assert sum(card.lost + card.doubled + card.under_way + card.waiting for card in cards) == 0

    records = receipts_of(live.bootstrap, load.tenant)
    within: defaultdict[int, list[int]] = defaultdict(list)
    since_time: defaultdict[int, list[int]] = defaultdict(list)
    for receipt in records:
        for minute, entered, since in zip(
            receipt.minutes, receipt.received_ms, receipt.since_ms, strict=True
        ):
            within[minute].append(receipt.departed_ms - entered)
            since_time[minute].append(receipt.departed_ms - since)
    assert {card.minute: card.delivered for card in cards} == {m: len(lags) for m, lags in within.items()}
    for card in cards:
        assert card.good == sum(1 for lag in within[card.minute] if lag <= 1_000)
        for told, lags in ((card.inside, within), (card.end_to_end, since_time)):
            exact = nearest_rank(lags[card.minute], 0.95)
            assert told.p95 == pytest.approx(exact, rel=ERROR + 1e-6, abs=1), shown(card)
    answered = {event_id: receipt.departed_ms for receipt in records for event_id in receipt.ids}
    early = {event_id for event_id in load.sent if answered[event_id] < load.arrived_ms[event_id]}
    assert not early, "a receipt has the time at which the answer was back, so it is no better than it was"
