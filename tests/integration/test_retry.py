"""A destination that is down at first: its event waits, visible to a user."""

from tests.integration.held_event import BEFORE, HELD, HeldEvent


def test_an_event_whose_destination_is_down_waits_and_is_visible(
    held: HeldEvent,
) -> None:
    # The one before it too, if a busy machine took so long to answer that it waits for another try.
    assert {HELD} <= held.visible <= {HELD, BEFORE}, "a waiting event is visible"
    first = held.receipts()[0]
    assert (first.result, first.attempt, first.status, first.tries) == ("retry", 1, 503, 3)
