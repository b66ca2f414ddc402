"""A version is judged by differences beyond chance and beyond a margin, and the verdict names them."""

import random
from typing import Any

import pytest
from msgspec.structs import replace

from pipelines.control.deploy.backend import SideMinute
from pipelines.control.deploy.judging.judgement import Enough, judged
from pipelines.control.deploy.judging.warming import Start
from shared.contracts.releases import Finding

ENOUGH = Enough(events=1_000, minutes=3, since=0)
MIB = 1024 * 1024


def minutes(count: int, total: int, **changed: Any) -> list[SideMinute]:
    like = SideMinute(minute=0, total=total, good=total, p95_ms=200.0, cpu_seconds=total * 0.001)
    return [replace(like, minute=minute, **changed) for minute in range(count)]


def test_a_version_that_does_as_well_is_good_after_enough_minutes_and_events() -> None:
    light = minutes(5, 9_000, good=8_980)
    assert judged(minutes(3, 1_000, good=997), light, ENOUGH).finding is Finding.GOOD
    few = judged(minutes(2, 200), light, ENOUGH)
    assert few.finding is Finding.EARLY
    assert few.words == [
        "2 of 3 minutes",
        "400 of 1,000 events",
        "400 of 400 events good in 2 minutes, none lost",
    ]
    assert judged([], light, ENOUGH).finding is Finding.EARLY
    assert judged(minutes(3, 1_000), [], ENOUGH).finding is Finding.EARLY, "nothing to compare it with"


def test_a_minute_that_is_not_settled_says_nothing_yet() -> None:
    ours, light = minutes(3, 1_000), minutes(5, 9_000)
    assert (
        judged([*ours[:2], replace(ours[2], settled=False, good=0)], light, ENOUGH).finding is Finding.EARLY
    )
    unsettled = [*light[:2], replace(light[2], settled=False, good=0)]
    assert judged(ours, unsettled, ENOUGH).finding is Finding.EARLY


@pytest.mark.parametrize(
    ("late", "bad"),
    [([40], False), ([40, 40], True), ([60], True)],
)
def test_one_minute_with_a_stall_is_no_verdict_unless_it_breaks_the_promise(
    late: list[int], bad: bool
) -> None:
    assert is_bad_with_late_events([0, *late, 0, 0]) is bad


@pytest.mark.parametrize(
    ("late", "bad"),
    [
        ([500, 0, 0], False),
        ([510, 0, 0], True),
        ([500, 40, 0], False),
        ([500, 251, 0], True),
        ([500, 250, 125, 60, 30], False),
        ([300, 75, 13, 0], False),
        ([300, 75, 60], True),
    ],
)
def test_late_events_of_cold_minutes_count_only_if_they_are_most_or_have_not_halved(
    late: list[int], bad: bool
) -> None:
    assert is_bad_with_late_events(late) is bad


def test_a_version_that_still_compiles_is_not_good_before_a_minute_keeps_the_promise() -> None:
    enough = replace(ENOUGH, minutes=2)
    late = [replace(each, good=1_000 - n) for n, each in zip([300, 75, 13], minutes(3, 1_000), strict=True)]
    early = judged(late[:2], minutes(2, 9_000), enough)
    assert (early.finding, early.warm_from) == (Finding.EARLY, 2)
    assert early.words[0] == "7.5 % late in the last minute, 30 % in the one before: it still compiles"
    good = judged(late, minutes(3, 9_000), enough)
    assert (good.finding, good.warm_from) == (Finding.GOOD, 3)


@pytest.mark.parametrize(("late", "finding"), [([300, 75, 13], Finding.GOOD), ([300, 9, 9], Finding.BAD)])
def test_p95_of_cold_minutes_says_nothing_of_a_version(late: list[int], finding: Finding) -> None:
    ours = [
        replace(each, good=1_000 - n) for n, each in zip(late, minutes(3, 1_000, p95_ms=900.0), strict=True)
    ]
    assert judged(ours, minutes(3, 9_000), ENOUGH).finding is finding


def is_bad_with_late_events(late: list[int]) -> bool:
    """The verdict on minutes of 1,000 events, of which some are late, beside a side without late events."""
    ours = [replace(each, good=1_000 - n) for n, each in zip(late, minutes(5, 1_000), strict=False)]
    found = judged(ours, minutes(5, 9_000), replace(ENOUGH, minutes=9)).finding
    assert found in (Finding.BAD, Finding.EARLY)
    return found is Finding.BAD


BAD: dict[str, tuple[dict[str, Any], str, bool]] = {
    "lost": ({"lost": 1}, "3 events are lost", True),
    "changed": ({"changed": 1}, "3 events arrived changed", True),
    "late": ({"good": 950}, "5 % of 2,000 events are late, against 0 % of 18,000", False),
    "doubled": ({"doubled": 5}, "0.5 % of 3,000 events are doubled", False),
    "dead": ({"dead": {"410 gone": 5}}, "0.5 % of 3,000 events are dead letters (410 gone)", True),
}


@pytest.mark.parametrize("name", BAD)
def test_a_worse_version_is_bad_and_its_figures_are_named(name: str) -> None:
    changed, words, replay = BAD[name]
    verdict = judged(minutes(3, 1_000, **changed), minutes(3, 9_000), ENOUGH)
    assert (verdict.finding, verdict.replay) == (Finding.BAD, replay)
    assert words in verdict.words[0]


def test_what_both_sides_have_is_not_the_versions_fault() -> None:
    both = {"good": 0.6, "doubled": 0.01, "dead": 0.2}
    ours, theirs = (
        minutes(
            3, n, good=int(n * both["good"]), doubled=int(n * both["doubled"]),
            dead={"503": int(n * both["dead"])},
        )
        for n in (1_000, 9_000)
    )  # fmt: skip
    assert judged(ours, theirs, ENOUGH).finding is Finding.GOOD


def test_a_large_number_of_events_does_not_turn_a_trifle_into_a_verdict() -> None:
    ours, theirs = minutes(3, 1_000_000, good=992_000), minutes(3, 1_000_000)
    assert judged(ours, theirs, ENOUGH).finding is Finding.GOOD


def test_few_events_decide_nothing() -> None:
    assert judged(minutes(1, 90, good=0), minutes(1, 900), ENOUGH).finding is Finding.EARLY


def test_p95_and_cpu_are_compared_by_the_minute_and_need_five() -> None:
    for field, value, words in (
        ("p95_ms", 300.0, "p95, ms: median 300 against 200 in 5 minutes"),
        ("cpu_seconds", 7.0, "CPU an event, ms: median 1.4 against 1 in 5 minutes"),
    ):
        ours = minutes(5, 5_000, **{field: value})
        assert judged(ours[:4], minutes(4, 5_000), ENOUGH).finding is Finding.GOOD
        verdict = judged(ours, minutes(5, 5_000), ENOUGH)
        assert (verdict.finding, verdict.replay) == (Finding.BAD, False)
        assert words in verdict.words[0]


def test_cpu_an_event_is_not_held_against_a_side_with_little_traffic() -> None:
    assert judged(minutes(5, 500, cpu_seconds=5.0), minutes(5, 9_000), ENOUGH).finding is Finding.GOOD


def test_memory_that_still_rises_when_a_version_is_warm_is_a_leak() -> None:
    def ours(count: int, rise: int) -> list[SideMinute]:
        like = minutes(count, 1_000)
        return [replace(each, memory_bytes=(500 + rise * each.minute) * MIB) for each in like]

    light = minutes(10, 9_000)
    verdict = judged(ours(10, 40), light, ENOUGH)
    assert "memory rises from 660 to 860 MiB in 6 minutes" in verdict.words[0]
    assert judged(ours(9, 40), light, ENOUGH).finding is Finding.GOOD, "five minutes are too few"
    assert judged(ours(10, 10), light, ENOUGH).finding is Finding.GOOD, "a trifle"
    warming = [*ours(4, 100), *[replace(each, memory_bytes=900 * MIB) for each in minutes(10, 1_000)[4:]]]
    assert judged(warming, light, ENOUGH).finding is Finding.GOOD


def test_a_version_that_needs_much_more_memory_than_the_other_side_is_bad_after_two_minutes() -> None:
    def ours(*mebibytes: int) -> list[SideMinute]:
        like = minutes(len(mebibytes), 1_000)
        return [replace(each, memory_bytes=mebibytes[each.minute] * MIB) for each in like]

    light = minutes(5, 9_000, memory_bytes=1_000 * MIB)
    verdict = judged(ours(900, 1_400, 1_900), light, ENOUGH)
    assert verdict.words[0] == "memory: 1,900 MiB against 1,000, more than 1.3 times as much in 2 minutes"
    assert (verdict.finding, verdict.replay) == (Finding.BAD, False)
    assert judged(ours(900, 1_100, 1_900), light, ENOUGH).finding is Finding.GOOD, "once"
    assert judged(ours(1_250, 1_250, 1_250), light, ENOUGH).finding is Finding.GOOD, "a trifle"
    begun_anew = [
        *minutes(2, 9_000, memory_bytes=1_000 * MIB),
        *minutes(3, 9_000, memory_bytes=500 * MIB)[2:],
    ]
    assert judged(ours(900, 900, 900), begun_anew, ENOUGH).finding is Finding.GOOD, (
        "the other side was killed"
    )


def test_alone_a_version_is_held_to_the_promise() -> None:
    assert judged(minutes(3, 1_000, good=960), [], ENOUGH, alone=True).finding is Finding.GOOD
    verdict = judged(minutes(3, 1_000, good=900), [], ENOUGH, alone=True)
    assert "10 % of 3,000 events are late, where 5 % are allowed" in verdict.words[0]
    dead = minutes(3, 1_000, dead={"410 gone": 300})
    assert judged(dead, [], ENOUGH, alone=True).finding is Finding.GOOD, "a customer's destination"


@pytest.mark.parametrize(
    ("late", "bad", "warm_from"),
    [
        ([300], False, 1),
        ([510], True, 0),
        ([300, 75, 13], False, 3),
        ([300, 100, 90, 60], True, 0),
        ([0, 300], True, 0),
    ],
)
def test_the_first_minutes_of_a_version_that_begins_with_all_traffic_are_cold(
    late: list[int], bad: bool, warm_from: int
) -> None:
    ours = [replace(each, good=1_000 - n) for n, each in zip(late, minutes(5, 1_000), strict=False)]
    verdict = judged(ours, [], ENOUGH, alone=True, start=Start.COLD)
    assert (verdict.finding is Finding.BAD, verdict.warm_from) == (bad, warm_from)


def test_a_version_that_got_everything_at_once_is_not_bad_for_late_events_alone() -> None:
    late = minutes(5, 1_000, good=300)
    assert judged(late, [], ENOUGH, alone=True, start=Start.HURRIED).finding is Finding.GOOD
    lossy = [*late[:-1], replace(late[-1], lost=1)]
    assert judged(lossy, [], ENOUGH, alone=True, start=Start.HURRIED).words == ["1 events are lost"]


def test_a_destination_that_fails_is_held_against_a_version_only_beside_one_that_reaches_it() -> None:
    failing = minutes(3, 1_000, good=500, held_up=480)
    assert judged(failing, [], ENOUGH, alone=True).finding is Finding.GOOD
    assert judged(failing, failing, ENOUGH).finding is Finding.GOOD
    assert judged(failing, minutes(3, 1_000), ENOUGH).finding is Finding.BAD
    late = minutes(3, 1_000, good=500, held_up=100)
    assert judged(late, [], ENOUGH, alone=True).finding is Finding.BAD


def test_versions_that_are_alike_hardly_ever_get_a_bad_verdict() -> None:
    chance = random.Random(7)
    releases, bad = 150, 0
    for _ in range(releases):
        ours, theirs = _alike(chance, 1_800), _alike(chance, 16_200)
        looks = (judged(ours[:n], theirs[:n], ENOUGH) for n in range(1, 11))
        bad += any(each.finding is Finding.BAD for each in looks)
    assert bad / releases < 0.05


def _alike(chance: random.Random, total: int) -> list[SideMinute]:
    return [
        SideMinute(
            minute=minute,
            total=total,
            good=total - round(chance.gauss(0.01, 0.002) * total),
            doubled=chance.randrange(2),
            dead={"410 gone": round(max(0.0, chance.gauss(0.002, 0.0005)) * total)},
            p95_ms=chance.gauss(250, 40),
            cpu_seconds=total * 0.001 * chance.gauss(1, 0.1),
            memory_bytes=round(chance.gauss(600, 20) * MIB),
        )
        for minute in range(10)
    ]
