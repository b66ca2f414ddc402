"""A single side's brokers are restarted one by one while it serves, as for a patch without a second side."""

from pathlib import Path

import pytest

from scripts.load.receiver import Receiver, running
from scripts.load.records import read_acked
from tests.harness.broker_patch import patch_brokers, say_minutes
from tests.harness.live_side import LiveSide, sending
from tests.harness.meter_processes import Meter
from tests.harness.waiting import eventually
from tests.integration.tenant import judged, key_of, minute_now, opened

RATE = 100
STEADY_EVENTS = 20 * RATE


@pytest.mark.proof
def test_a_patch_of_the_only_sides_brokers_loses_nothing(
    live: LiveSide, meter: Meter, tmp_path: Path
) -> None:
    """The test's output shows the cost of the patch."""
    name, acked = "only-patch", tmp_path / "acked.tsv"
    with running(Receiver()) as receiver:
        opened(live, name, receiver)
        first, counts = minute_now(), receiver.counts(f"/{name}")

        def steady() -> None:
            wanted = counts.distinct + STEADY_EVENTS
            eventually(lambda: counts.distinct >= wanted, 120, "events flow")

        with sending(live.url, key=key_of(name), rate=RATE, batch=1, acked=acked):
            steady()
            patch_brokers(live.side)
            steady()
        sent = {record.event_id for record in read_acked(acked)}
        eventually(lambda: sent <= counts.seen, 60, "all have arrived")
    cards = judged(meter, name, first - 1, minute_now())
    say_minutes(name, cards)
    assert sum(card.total for card in cards) == len(sent) + 1  # the probe
    assert sum(card.lost for card in cards) == 0
