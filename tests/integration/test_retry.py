"""A destination that is down at first gets its event at the second attempt, through the whole chain."""

import json
import urllib.error
import urllib.request

import msgspec

from scripts.load.fault_injection import FaultInjection, parse_rule
from scripts.load.receiver import Receiver, running
from scripts.load.verify import visible_ids, visible_in
from shared.contracts import headers as h
from shared.contracts.receipts import Receipt
from shared.contracts.topics import RETRY_DELAYS, Topic
from tests.harness.live_side import LiveSide
from tests.harness.topics import Topics
from tests.harness.waiting import eventually

NAME = "comes-back"
KEY = "integration-comes-back"
DELAY_SECONDS = RETRY_DELAYS[Topic.RETRY_IN_30S].total_seconds()


def post(url: str, event_id: str, key: str = KEY) -> int:
    """The status of a request with one CloudEvent."""
    event = {"specversion": "1.0", "id": event_id, "source": "/test", "type": "t", "data": {"n": 1}}
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/cloudevents+json"}
    request = urllib.request.Request(f"{url}/v1/events", json.dumps(event).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code


def receipts(bootstrap: str, event_id: str) -> list[Receipt]:
    """An event's receipts, first to last."""
    found = [
        msgspec.json.decode(m.value() or b"", type=Receipt) for m in Topics(bootstrap).all_of(Topic.RECEIPTS)
    ]
    return sorted((one for one in found if event_id in one.ids), key=lambda one: one.departed_ms)


def test_an_event_arrives_at_the_second_attempt_when_its_destination_is_back(live: LiveSide) -> None:
    both = {"name": NAME, "tenant": NAME}
    with running(Receiver()) as receiver:
        live.apply(
            {"kind": "source", "write_keys": [KEY], **both},
            {"kind": "destination", "options": {"url": f"{receiver.url}/{NAME}"}, **both},
            {"kind": "pipe", "source": NAME, "destination": NAME, **both},
        )
        seen = receiver.counts(f"/{NAME}").seen
        eventually(lambda: post(live.url, "before") == 202, 30, "the source is open")
        eventually(lambda: "before" in seen, 30, "the pipe is live")

        receiver.misbehaviour = FaultInjection([parse_rule("503=100%")])
        assert post(live.url, "held") == 202
        eventually(lambda: receipts(live.bootstrap, "held"), 30, "the first attempt fails")
        assert visible_in(NAME, visible_ids(live.bootstrap)) == {"held"}, "a waiting event is visible"
        receiver.misbehaviour = FaultInjection()
        eventually(lambda: "held" in seen, DELAY_SECONDS + 15, "the second attempt arrives")
        eventually(lambda: len(receipts(live.bootstrap, "held")) == 2, 10, "both attempts have receipts")

        first, second = receipts(live.bootstrap, "held")
        assert (first.result, first.attempt, first.status, first.tries) == ("retry", 1, 503, 3)
        assert (second.result, second.attempt, second.status) == ("delivered", 2, 202)
        assert DELAY_SECONDS <= (second.departed_ms - first.departed_ms) / 1000 <= DELAY_SECONDS + 5
        sent_again = [dict(m.headers() or []) for m in Topics(live.bootstrap).all_of(Topic.RETRY_OUT)]
        assert [one[h.ATTEMPT] for one in sent_again if one[h.PIPE] == NAME.encode()] == [b"2"]
        assert receiver.counts(f"/{NAME}").duplicated == 0
