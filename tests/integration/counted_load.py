"""A load with each event counted at arrival; its minutes are judged while other tests run."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.load.receiver import Receiver, running
from scripts.load.records import read_acked, read_received
from tests.harness.live_side import LiveSide, sending
from tests.harness.waiting import eventually
from tests.integration.tenant import key_of, minute_now, opened


@dataclass(frozen=True)
class CountedLoad:
    """The events sent, and those that arrived."""

    tenant: str
    sent: frozenset[str]
    """Ids of the events that were acknowledged; the tenant has one more, the probe."""

    arrived_ms: Mapping[str, int]
    """By event id, epoch milliseconds by the receiver's clock."""

    first_minute: int
    last_minute: int
    """Epoch minutes, both included, in which the load was sent."""


def counted_load(live: LiveSide, folder: Path, rate: int, seconds: float) -> CountedLoad:
    """Send events at a rate for some seconds, and wait until all have arrived."""
    tenant, acked, received = f"agreed-{rate}", folder / "acked.tsv", folder / "received.tsv"
    with running(Receiver(out=received)) as receiver:
        opened(live, tenant, receiver)
        first = minute_now()
        with sending(live.url, key=key_of(tenant), rate=rate, batch=20, acked=acked):
            time.sleep(seconds)
        sent = frozenset(record.event_id for record in read_acked(acked))
        eventually(lambda: sent <= receiver.counts(f"/{tenant}").seen, 120, "all have arrived")
    arrived = {record.event_id: record.received_ms for record in read_received(received)}
    return CountedLoad(tenant, sent, arrived, first - 1, minute_now())
