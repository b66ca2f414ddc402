"""A destination that is down at first gets its event at the second attempt, through the whole chain.

The wait began in test_retry.py; what runs in between costs no time.
"""

from shared.contracts import headers as h
from shared.contracts.topics import RETRY_DELAYS, Topic
from tests.harness.topics import Topics
from tests.harness.waiting import eventually
from tests.integration.held_event import HELD, NAME, HeldEvent

DELAY_SECONDS = RETRY_DELAYS[Topic.RETRY_IN_30S].total_seconds()


def test_an_event_arrives_at_the_second_attempt_when_its_destination_is_back(held: HeldEvent) -> None:
    eventually(lambda: HELD in held.destination.seen, DELAY_SECONDS + 15, "the second attempt arrives")
    eventually(lambda: len(held.receipts()) == 2, 10, "both attempts have receipts")
    first, second = held.receipts()
    assert (first.result, first.attempt, first.status, first.tries) == ("retry", 1, 503, 3)
    assert (second.result, second.attempt, second.status) == ("delivered", 2, 202)
    assert DELAY_SECONDS <= (second.departed_ms - first.departed_ms) / 1000 <= DELAY_SECONDS + 5
    sent_again = [dict(m.headers() or []) for m in Topics(held.bootstrap).all_of(Topic.RETRY_OUT)]
    assert [one[h.ATTEMPT] for one in sent_again if one[h.PIPE] == NAME.encode()] == [b"2"]
    assert held.destination.duplicated == 0
