"""How long events without a turn wait."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.transmit.admission.backlog import Backlog, after_setting_aside, delay, waiting
from shared.contracts.topics import RETRY_DELAYS

TOPICS = {each.total_seconds() for each in RETRY_DELAYS.values()}
HOUR = max(TOPICS)
RATES = st.floats(0.01, 10_000)
BATCHES = st.lists(st.integers(1, 500), min_size=1, max_size=60)
NOW = 1_000.25


def set_aside(batches: list[int], rate: float | None, now: float = NOW) -> tuple[Backlog, list[float]]:
    backlog, delays = Backlog(), []
    for events in batches:
        delays.append(delay(backlog, events, rate, now))
        backlog = after_setting_aside(backlog, events, delays[-1], now)
    return backlog, delays


@given(BATCHES, RATES)
def test_no_more_come_back_in_the_next_seconds_than_the_destination_takes_in_them(
    batches: list[int], rate: float
) -> None:
    _, delays = set_aside(batches, rate)
    for seconds in range(1, 30):
        back = sum(n for n, after in zip(batches, delays, strict=True) if after <= seconds)
        assert back <= rate * seconds
    assert all(after in TOPICS or after in range(1, 31) for after in delays)


@given(BATCHES, RATES)
def test_a_longer_wait_than_half_a_minute_is_over_before_the_backlog_is(
    batches: list[int], rate: float
) -> None:
    backlog, delays = set_aside(batches, rate)
    assert all(after <= 30 or after * rate <= sum(batches) for after in delays)
    assert waiting(backlog, NOW) == sum(batches)
    assert waiting(backlog, NOW + HOUR) == 0


def test_each_event_waits_until_there_is_room_for_it() -> None:
    assert set_aside([50] * 4, 50.0)[1] == [1.0, 2.0, 3.0, 4.0]
    assert set_aside([500, 50, 50], 50.0)[1] == [10.0, 11.0, 12.0], (
        "nor does a small one overtake a large one"
    )


def test_a_long_backlog_waits_for_minutes_or_an_hour() -> None:
    _, delays = set_aside([100] * 4_000, 50.0)
    assert (delays[0], delays[20], delays[200], delays[-1]) == (2.0, 30.0, 300.0, 3600.0)


def test_seconds_that_are_too_full_already_do_not_keep_the_earlier_ones_empty() -> None:
    full = after_setting_aside(Backlog(), 10_000, 20.0, NOW)
    assert delay(full, 50, 50.0, NOW) == 1.0


def test_what_is_back_gives_room() -> None:
    backlog, _ = set_aside([50] * 4, 50.0)
    assert delay(backlog, 50, 50.0, NOW) == 5.0
    assert delay(backlog, 50, 50.0, NOW + 2) == 3.0


def test_while_nothing_is_known_of_a_destination_its_events_wait_for_half_a_minute() -> None:
    for rate in (None, 0.0):
        assert set_aside([10, 1_000_000], rate)[1] == [30.0, 30.0]
