"""Events of which some are traced: they arrive, and their spans come while other tests run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import uuid4

from scripts.load.receiver import Receiver, running
from shared.contracts.tracing import is_sampled, traced
from tests.harness.live_side import LiveSide
from tests.harness.waiting import eventually
from tests.integration.test_live_config import documents


@dataclass(frozen=True, kw_only=True)
class TracedEvents:
    """Four events, by id, and what their destination received."""

    tenant: str
    asked_for: str
    """The traceparent of `clients`, which its client samples."""

    not_asked_for: str
    """The traceparent of `unsampled`, which its client does not sample."""

    clients: str
    unsampled: str
    chosen: str
    """An event without a traceparent that hifi traces by itself."""

    plain: str
    """An event without a traceparent that is not traced."""

    arrived: Mapping[str, Mapping[str, Any]]
    """Arrived events by id."""


def sent_events(live: LiveSide) -> TracedEvents:
    """Send them, and wait until they have arrived."""
    tenant, arrived = f"traced-{uuid4().hex[:8]}", dict[str, dict[str, Any]]()

    def take(_: str, body: bytes, __: Mapping[str, str]) -> None:
        arrived.update({found["id"]: found for found in json.loads(body)})

    found = _events(tenant, arrived)
    key = f"integration-{tenant}"
    with running(Receiver(on_body=take)) as receiver:
        live.apply(*documents(tenant, receiver, "all"))
        eventually(
            lambda: _post(live, key, _event("probe")) and "probe" in arrived, 60, "the pipe is live", 0.5
        )
        assert _post(
            live,
            key,
            _event(found.clients, found.asked_for),
            _event(found.unsampled, found.not_asked_for),
            _event(found.chosen),
            _event(found.plain),
        )
        eventually(lambda: len(arrived) == 5, 60, "all arrive")
    return found


def _events(tenant: str, arrived: Mapping[str, Mapping[str, Any]]) -> TracedEvents:
    not_asked_for = f"00-{uuid4().hex}-{uuid4().hex[:16]}-00"
    assert traced(not_asked_for) is None
    ids = (f"{tenant}-{number}" for number in count())
    chosen = next(filter(is_sampled, ids))
    clients, unsampled, plain = (next(one for one in ids if not is_sampled(one)) for _ in range(3))
    return TracedEvents(
        tenant=tenant,
        asked_for=f"00-{uuid4().hex}-{uuid4().hex[:16]}-01",
        not_asked_for=not_asked_for,
        clients=clients,
        unsampled=unsampled,
        chosen=chosen,
        plain=plain,
        arrived=arrived,
    )


def _event(event_id: str, traceparent: str = "") -> dict[str, object]:
    asked = {"traceparent": traceparent} if traceparent else {}
    return {"specversion": "1.0", "id": event_id, "source": "t", "type": "t", "data": 1} | asked


def _post(live: LiveSide, key: str, *events: dict[str, object]) -> bool:
    return live.post(key, json.dumps(events).encode(), "application/cloudevents-batch+json")
