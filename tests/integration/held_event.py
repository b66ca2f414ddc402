"""An event for an unavailable destination: it waits for its second attempt while other tests run."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from scripts.load.fault_injection import FaultInjection, parse_rule
from scripts.load.receiver import PathCounts, Receiver, running
from scripts.load.verify import visible_ids, visible_in
from shared.contracts.receipts import Receipt
from tests.harness.live_side import LiveSide
from tests.harness.topics import Topics
from tests.harness.waiting import eventually

NAME = "comes-back"
KEY = "integration-comes-back"
BEFORE, HELD = "before", "held"


@dataclass(frozen=True)
class HeldEvent:
    """The event's present state."""

    bootstrap: str
    destination: PathCounts
    """The arrivals at its destination, which accepts events again since the first attempt."""

    visible: set[str]
    """The events that waited after the first attempt, as shown to a user."""

    def receipts(self) -> list[Receipt]:
        """The receipts in order."""
        return _receipts(self.bootstrap)


@contextmanager
def held_event(live: LiveSide) -> Iterator[HeldEvent]:
    """Let the first attempt fail and the second one succeed."""
    both = {"name": NAME, "tenant": NAME}
    with running(Receiver()) as receiver:
        live.apply(
            {"kind": "source", "write_keys": [KEY], **both},
            {"kind": "destination", "options": {"url": f"{receiver.url}/{NAME}"}, **both},
            {"kind": "pipe", "source": NAME, "destination": NAME, **both},
        )
        arrived = receiver.counts(f"/{NAME}")
        eventually(lambda: post(live.url, BEFORE) == 202, 60, "the source is open")
        eventually(lambda: BEFORE in arrived.seen, 60, "the pipe is live")
        receiver.misbehaviour = FaultInjection([parse_rule("503=100%")])
        assert post(live.url, HELD) == 202
        eventually(lambda: _receipts(live.bootstrap), 60, "the first attempt fails")
        visible = eventually(
            lambda: HELD in (found := visible_in(NAME, visible_ids(live.bootstrap))) and found,
            what="it is visible",
        )
        receiver.misbehaviour = FaultInjection()
        yield HeldEvent(live.bootstrap, arrived, set(visible))


def post(url: str, event_id: str, key: str = KEY) -> int:
    """The status of a request with one CloudEvent."""
    event = {"specversion": "1.0", "id": event_id, "source": "/test", "type": "t", "data": {"n": 1}}
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/cloudevents+json"}
    request = urllib.request.Request(f"{url}/v1/events", json.dumps(event).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=120) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code


def _receipts(bootstrap: str) -> list[Receipt]:
    found = (one for one in Topics(bootstrap).receipts() if HELD in one.ids)
    return sorted(found, key=lambda one: one.departed_ms)
