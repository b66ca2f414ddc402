"""A tenant with one source, pipe and destination, and the meter's verdicts on its minutes."""

import time

from scripts.load.receiver import Receiver
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.receipts import Receipt
from shared.contracts.scorecard import MinuteCard
from tests.harness.live_side import LiveSide
from tests.harness.meter_processes import Meter
from tests.harness.topics import Topics
from tests.harness.waiting import eventually
from tests.integration.held_event import post

JUDGED_SECONDS = 420


def documents(name: str, url: str) -> list[dict[str, object]]:
    both = {"name": name, "tenant": name}
    return [
        {"kind": "source", "write_keys": [key_of(name)], **both},
        {"kind": "destination", "options": {"url": f"{url}/{name}"}, **both},
        {"kind": "pipe", "source": name, "destination": name, **both},
    ]


def key_of(name: str) -> str:
    return f"integration-{name}"


def opened(live: LiveSide, name: str, receiver: Receiver) -> None:
    """Apply a tenant with one source, pipe and destination, and wait until its first event arrives."""
    live.apply(*documents(name, receiver.url))
    eventually(lambda: post(live.url, f"probe-{name}", key_of(name)) == 202, 60, "the source is open")
    eventually(lambda: f"probe-{name}" in receiver.counts(f"/{name}").seen, 60, "the pipe is live")


def judged(meter: Meter, tenant: str, since: int, until: int) -> list[MinuteCard]:
    """The tenant's minutes, once each minute with events is settled."""

    def settled() -> list[MinuteCard]:
        cards = [card for card in meter.minutes(tenant, since, until) if card.collected]
        return cards if cards and all(card.settled for card in cards) else []

    return eventually(settled, JUDGED_SECONDS, f"{tenant}'s minutes are judged", 1.0)  # type: ignore[no-any-return]


def minute_now() -> int:
    return int(time.time() * 1_000) // MINUTE_MS


def receipts_of(bootstrap: str, tenant: str) -> list[Receipt]:
    return [receipt for receipt in Topics(bootstrap).receipts() if receipt.tenant == tenant]
