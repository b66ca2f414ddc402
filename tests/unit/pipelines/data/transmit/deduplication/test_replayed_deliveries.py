"""The window remembers a replayed event's delivery separately from the earlier one."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.transmit.deduplication.dedup_window import DedupWindow
from pipelines.data.transmit.deduplication.delivery_history import DeliveryHistory
from tests.unit.pipelines.data.transmit.transmit_events import event

_NUMBERS = st.integers(0, 5)
_REPLAYS = st.sampled_from([None, "r1", "r2"])
_COPIES = st.lists(st.tuples(_NUMBERS, _REPLAYS), max_size=40)


@given(_COPIES)
def test_each_event_is_sent_once_and_once_more_in_each_replay_but_never_as_before_after_one(
    copies: list[tuple[int, str | None]],
) -> None:
    history = DeliveryHistory(DedupWindow(60_000, 1_000), lambda: 0)
    sent: list[tuple[int, str | None]] = []
    for number, replay in copies:
        found = event(number, replay=replay)
        if history.known(found.dedup_key) == "no":
            sent.append((number, replay))
            history.add(found.delivered_keys)
    owed: list[tuple[int, str | None]] = []
    for number, replay in copies:
        again = [each for each in owed if each[0] == number]
        if (number, replay) not in owed and not (replay is None and again):
            owed.append((number, replay))
    assert sent == owed


@given(_NUMBERS, _NUMBERS, _REPLAYS, _REPLAYS)
def test_two_copies_have_one_key_only_if_event_and_replay_are_the_same(
    one: int, other: int, first: str | None, second: str | None
) -> None:
    same = event(one, replay=first).dedup_key == event(other, replay=second).dedup_key
    assert same == ((one, first) == (other, second))
    assert event(one, replay=first).key == event(one).key, "both meet in one partition"
