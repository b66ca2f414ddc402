"""Names of the states of minutes and days."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.management.console.status_styles import MinuteStatus, day_states, nines_style, runs, state_of
from tests.unit.pipelines.management.console.cards import mark


def test_states_of_minutes() -> None:
    assert state_of(mark(1)) is MinuteStatus.GOOD
    assert state_of(mark(1, spent=True)) is MinuteStatus.SPENT
    assert state_of(mark(1, settled=False)) is MinuteStatus.OPEN
    assert state_of(mark(1, total=0)) is MinuteStatus.EMPTY


def test_a_day_has_1440_minutes_and_the_future_is_to_come() -> None:
    found = day_states([mark(1441), mark(1442, spent=True)], 1440, 1500)
    assert len(found) == 1440
    assert found[:4] == [MinuteStatus.EMPTY, MinuteStatus.GOOD, MinuteStatus.SPENT, MinuteStatus.EMPTY]
    assert found[60] is MinuteStatus.EMPTY and found[61] is MinuteStatus.AHEAD


@given(st.lists(st.sampled_from(MinuteStatus), max_size=300))
def test_runs_hold_every_minute_once_and_none_crosses_an_hour(states: list[MinuteStatus]) -> None:
    found = list(runs(states))
    assert [run.state for run in found for _ in range(run.length)] == states
    assert all(run.start // 60 == (run.start + run.length - 1) // 60 for run in found)
    starts = [run.start for run in found]
    assert starts == sorted(set(starts))


def test_days_by_nines() -> None:
    assert [nines_style(nines) for nines in (None, 9.0, 3.0, 2.99, 1.9)] == [
        "none", "kept", "kept", "missed", "far",
    ]  # fmt: skip
