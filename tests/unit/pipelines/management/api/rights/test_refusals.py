"""Refused requests are counted by reason and minute."""

from pipelines.management.api.rights.refusals import Refusals


def test_very_many_refusals_of_a_minute_are_noted_few_times_with_their_count() -> None:
    refusals = Refusals()
    noted = [found for n in range(50_000) if (found := refusals.counted("ann", 60_000 + n)) is not None]
    assert [count for _, count in noted[:17]] == [*range(1, 17), 32]
    assert len(noted) < 30 and noted[-1] == (60_000, 32_768)


def test_another_reason_and_another_minute_are_counted_by_themselves() -> None:
    refusals = Refusals()
    for _ in range(20):
        refusals.counted("ann", 61_000)
    assert refusals.counted("bob", 62_000) == (62_000, 1)
    assert refusals.counted("ann", 120_000) == (120_000, 1)
    assert refusals.counted("ann", 119_999) == (120_000, 2), "a thread that was late begins no minute anew"


def test_its_memory_is_bounded() -> None:
    refusals = Refusals()
    noted = [refusals.counted(n, 0) is not None for n in range(10_010)]
    assert noted == [True] * 10_000 + [False] * 10
    assert refusals.counted(5, 0) == (0, 2)
