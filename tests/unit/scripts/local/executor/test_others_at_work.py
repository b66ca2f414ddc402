"""An executor may rehearse while others take its driver's tasks."""

from collections.abc import Iterable

import pytest

from scripts.local.executor.others_at_work import OthersAtWork
from tests.harness.waiting import NoPauses


def _looked(counts: Iterable[int | None]) -> OthersAtWork:
    given = list(counts)
    answers = iter(given)
    others = OthersAtWork(lambda: next(answers))
    for _ in given:
        others.look()
    return others


@pytest.mark.parametrize(
    ("counts", "there"),
    [
        ([2], True),
        ([1], True),
        ([0], False),
        ([None], True),
        ([None] * 4 + [1] + [None] * 4, True),
        ([None] * 5, False),
    ],
)
def test_others_are_at_work_until_the_driver_counts_none_or_is_silent_for_long(
    counts: list[int | None], there: bool
) -> None:
    assert _looked(counts).found is there


def test_once_there_were_none_a_rehearsal_that_is_ending_does_not_go_on() -> None:
    assert not _looked([0, 2]).found


def test_the_first_look_waits_for_an_answer() -> None:
    answers = iter([None, None, 1])
    pauses: list[float] = []
    others = OthersAtWork(lambda: next(answers), pauses.append)
    others.look_first()
    assert others.found
    assert pauses == [0.5, 0.5]
    assert next(answers, "none left") == "none left"


def test_watching_ends_with_the_others() -> None:
    answers = iter([0])
    others = OthersAtWork(lambda: next(answers))
    others.watch(NoPauses())
    assert not others.found
