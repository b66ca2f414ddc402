"""A destination that is down at first gets its event at the second attempt, through the whole chain.

test_retry.py began the wait; the tests in between cost no waiting.
"""

from typing import Any

from shared.contracts import headers as h
from shared.contracts.topics import RETRY_DELAYS, Topic
from tests.harness.topics import Topics
from tests.harness.waiting import eventually
from tests.integration.held_event import HELD, NAME, HeldEvent

DELAY_SECONDS = RETRY_DELAYS[Topic.RETRY_IN_30S].total_seconds()


def headers_in(held: HeldEvent, topic: Topic) -> list[dict[str, Any]]:
    """Headers of the event's records in a topic."""
    found: list[dict[str, Any]] = [dict(m.headers() or []) for m in Topics(held.bootstrap).all_of(topic)]
    return [each for each in found if (each[h.PIPE], each[h.CE_ID]) == (NAME.encode(), HELD.encode())]


def test_an_event_arrives_at_the_second_attempt_when_its_destination_is_back(held: HeldEvent) -> None:
    eventually(lambda: HELD in held.destination.seen, 2 * DELAY_SECONDS + 60, "the second attempt arrives")
    eventually(lambda: len(held.receipts()) == 2, 60, "both attempts have receipts")
    first, second = held.receipts()
    assert (first.result, first.attempt, first.status, first.tries) == ("retry", 1, 503, 3)
    assert (second.result, second.attempt, second.status) == ("delivered", 2, 202)
    (waited,), (sent_again,) = (headers_in(held, topic) for topic in (Topic.RETRY_IN_30S, Topic.RETRY_OUT))
    asked_ms = int(waited[h.NOT_BEFORE])
    assert asked_ms - first.departed_ms >= DELAY_SECONDS * 1_000
    late_ms = second.departed_ms - asked_ms
    assert 0 <= late_ms < DELAY_SECONDS * 1_000, "later than asked by less than the wait itself"
    assert sent_again[h.ATTEMPT] == b"2"
    assert held.destination.duplicated == 0
