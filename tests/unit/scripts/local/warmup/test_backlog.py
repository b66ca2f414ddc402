"""When the warm-up holds its load back for customers' events."""

import pytest

from scripts.local.warmup.backlog import Backlog, Look


def _seen(*looks: tuple[float, int, int, int, int]) -> Backlog:
    backlog = Backlog()
    for at, collected, answered, sent, lag_ms in looks:
        backlog.take(Look(at=at, collected=collected, answered=answered, sent=sent, lag_ms=lag_ms))
    return backlog


@pytest.mark.parametrize(
    ("later", "waits"),
    [
        ((1.0, 141, 11, 11, 30_000), True),
        ((1.0, 141, 11, 11, 400), False),
        ((1.0, 111, 11, 11, 30_000), False),
        ((1.0, 111, 1, 21, 30_000), False),
    ],
    ids=["others' events are late", "they are in time", "all are the warm-up's", "it may have sent them all"],
)
def test_customers_events_wait_if_others_send_and_the_chain_is_behind(
    later: tuple[float, int, int, int, int], waits: bool
) -> None:
    assert _seen((0.0, 100, 0, 0, 30_000), later).waits is waits


def test_a_single_look_decides_neither_waiting_nor_the_time_left() -> None:
    assert not _seen((0.0, 100, 0, 0, 30_000)).waits
    assert _seen((0.0, 100, 0, 0, 30_000)).seconds_left is None


@pytest.mark.parametrize(("lag_ms", "left"), [(20_000, 40.0), (30_000, None), (40_000, None)])
def test_the_time_left_is_that_of_a_lag_that_goes_on_to_fall(lag_ms: int, left: float | None) -> None:
    assert _seen((0.0, 0, 0, 0, 30_000), (20.0, 900, 0, 0, lag_ms)).seconds_left == left
