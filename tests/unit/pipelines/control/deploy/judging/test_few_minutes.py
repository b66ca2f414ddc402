"""A much worse version is found within the few minutes that a release has on one machine."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pipelines.control.deploy.backend import SideMinute
from pipelines.control.deploy.judging.judgement import Enough, judged
from pipelines.control.deploy.judging.traffic_minutes import first_warm_minute
from pipelines.control.deploy.policy import Policy
from scripts.local.twins.programs import QUICK
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Finding, Verdict
from tests.harness.fake_world import DARK, LIGHT, OLD, Bad
from tests.harness.release_world import ReleaseWorld, assert_whole, steps

LOCAL = Policy(**{name.removeprefix("HIFI_").lower(): int(value) for name, value in QUICK.items()})
SETTLE_MS = 35_000
"""Minutes of two local sides settle 30 s after their end, and are seen some seconds later."""

ENOUGH = Enough(events=1_000, minutes=LOCAL.watch_minutes, since=0)
SECONDS = (0, 20, 40, 55)
"""Seconds of a minute at which a release begins; they decide which whole minute is its first with traffic."""

MINUTES = 4
"""Settled minutes with traffic on both sides, of a release on one machine."""

P95_SPREAD = 1.97
"""Ratio of two runs at the same rate, on a machine with ten times its load (docs/proofs.md, neighbours)."""

CPU_SPREAD = 1.38
"""Ratio of the same chain's runs on two days (docs/performance.md)."""


def minutes(**changed: Sequence[Any]) -> list[SideMinute]:
    """One minute for each of these values."""
    like = SideMinute(minute=0, total=9_000, good=9_000, p95_ms=200.0, cpu_seconds=50.0)
    count = len(next(iter(changed.values())))
    found = [
        replace(like, minute=n, **{name: values[n] for name, values in changed.items()}) for n in range(count)
    ]
    return [replace(each, good=each.total) for each in found]


def verdict(ours: Sequence[SideMinute], theirs: Sequence[SideMinute] | None = None) -> Verdict:
    return judged(ours, minutes(total=[9_000] * MINUTES) if theirs is None else theirs, ENOUGH)


@pytest.mark.parametrize(
    ("p95_ms", "words"),
    [
        ([200, 200, 610, 620], "610 and 620 against 200 and 200"),
        ([200, 640, 601, 200], "640 and 601 against 200 and 200"),
        ([900, 900, 590, 590], ""),  # it was cold
        ([200, 900, 200, 900], ""),
        ([590, 590, 590, 590], ""),
        ([200, None, 700, None], ""),
    ],
)
def test_a_p95_that_is_much_higher_in_two_minutes_is_bad(p95_ms: list[float], words: str) -> None:
    found = verdict(minutes(p95_ms=p95_ms))
    assert (found.finding, found.replay) == (Finding.BAD if words else Finding.GOOD, False)
    said = f"p95, ms: {words}, more than 2 times as much and 200 ms in two minutes"
    assert not words or found.words == [said]


def test_p95_of_a_few_events_says_nothing() -> None:
    slow, few = minutes(p95_ms=[900.0] * MINUTES), minutes(total=[990] * MINUTES)
    assert verdict([replace(each, total=990, good=990) for each in slow]).finding is Finding.GOOD
    assert verdict(slow, few).finding is Finding.GOOD
    assert verdict(slow).finding is Finding.BAD


@pytest.mark.parametrize(
    ("cpu_seconds", "words"),
    [
        ([50, 50, 108, 117], "12 and 13 against 5.556 and 5.556"),
        ([200, 200, 50, 50], ""),  # it was cold
        ([50, 117, 50, 117], ""),
        ([99, 99, 99, 99], ""),
        ([50, None, 117, None], ""),
    ],
)
def test_cpu_that_is_much_more_in_two_minutes_is_bad(cpu_seconds: list[float], words: str) -> None:
    found = verdict(minutes(cpu_seconds=cpu_seconds))
    assert (found.finding, found.replay) == (Finding.BAD if words else Finding.GOOD, False)
    said = f"CPU an event, ms: {words}, more than 2 times as much in two minutes"
    assert not words or found.words == [said]


def test_cpu_that_does_not_depend_on_the_traffic_counts_against_the_version_that_uses_more() -> None:
    light = minutes(total=[16_200] * MINUTES, cpu_seconds=[53.0] * MINUTES)
    for total, cpu_seconds, finding in (
        (1_800, 52.0, Finding.GOOD),
        (1_800, 107.0, Finding.BAD),
        (32_400, 190.0, Finding.GOOD),
        (32_400, 213.0, Finding.BAD),
    ):
        ours = minutes(total=[total] * MINUTES, cpu_seconds=[cpu_seconds] * MINUTES)
        assert verdict(ours, light).finding is finding, (total, cpu_seconds)


def test_minutes_in_which_nothing_was_read_say_nothing_of_cpu() -> None:
    idle = minutes(cpu_seconds=[0.0] * MINUTES)
    assert verdict(minutes(cpu_seconds=[50.0] * MINUTES), idle).finding is Finding.GOOD


def test_a_version_for_named_customers_may_use_as_much_cpu_as_the_other_side_for_more() -> None:
    ours = minutes(total=[7_200] * 6, cpu_seconds=[52.0] * 6)
    theirs = minutes(total=[18_000] * 6, cpu_seconds=[53.0] * 6)
    assert verdict(ours, theirs).finding is Finding.GOOD
    dearer = [replace(each, cpu_seconds=80.0) for each in ours]
    assert "CPU an event, ms: median 11.11 against 7.361 in 6 minutes" in verdict(dearer, theirs).words[0]


@st.composite
def side(draw: st.DrawFn, p95_ms: float, fixed: float, each: float, cold: int) -> list[SideMinute]:
    """Minutes of an ordinary side: lag, and CPU seconds per minute and event, vary within the spreads."""
    totals = draw(st.lists(st.integers(1, 100_000), min_size=MINUTES, max_size=MINUTES))
    cpu = [(fixed + each * total) * draw(st.floats(1, CPU_SPREAD)) for total in totals]
    lags = [p95_ms * draw(st.floats(1, P95_SPREAD)) for _ in totals]
    more = [draw(st.floats(1, 10)) if minute < cold else 1.0 for minute in range(MINUTES)]
    return minutes(
        total=totals,
        p95_ms=[lag * times for lag, times in zip(lags, more, strict=True)],
        cpu_seconds=[used * times for used, times in zip(cpu, more, strict=True)],
    )


@given(data=st.data())
def test_two_sides_that_are_alike_are_never_judged_worse(data: st.DataObject) -> None:
    p95_ms, fixed = data.draw(st.floats(1, 2_000)), data.draw(st.floats(0.1, 200))
    each = data.draw(st.floats(0, 0.01))
    ours = data.draw(side(p95_ms, fixed, each, cold=2))
    theirs = data.draw(side(p95_ms, fixed, each, cold=0))
    assert judged(ours, theirs, ENOUGH).finding is not Finding.BAD


def local_world(second: int) -> ReleaseWorld:
    """Two sides as on one machine, `second` seconds after the start of a minute."""
    world = ReleaseWorld(LOCAL)
    world.place.meter.settle_ms = SETTLE_MS
    world.turn(second)
    return world


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (Bad.HIGHER_P95, "p95, ms: "),
        (Bad.COSTLIER, "CPU an event, ms: "),
    ],
)
@pytest.mark.parametrize("second", SECONDS)
def test_a_version_that_is_much_worse_but_in_time_is_undone_on_one_machine(
    bad: Bad, words: str, second: int
) -> None:
    world = local_world(second)
    world.ask(Kind.DEPLOY, bad)
    release = world.ended()
    assert (release.step, release.reached) == (Step.UNDONE, Step.WATCH_HALF)
    assert words in release.back, release.back
    assert "in two minutes" in release.back
    assert_whole(world, version=OLD, side=LIGHT)


@pytest.mark.parametrize("second", SECONDS)
def test_a_good_version_that_is_cold_at_first_is_kept_on_one_machine(second: int) -> None:
    world = local_world(second)
    world.place.meter.late_when_cold = (0.4,)
    world.ask(Kind.DEPLOY, "2.0")
    release = world.ended()
    assert (release.step, steps(release)) == (Step.DONE, list(release.plan))
    assert_whole(world, version="2.0", side=DARK)
    last = [each for each in release.verdicts if each.step is Step.WATCH_HALF][-1]
    assert last.last - last.first + 1 == MINUTES


@pytest.mark.parametrize("second", SECONDS)
def test_a_good_version_that_is_cold_for_longer_is_watched_for_longer(second: int) -> None:
    world = local_world(second)
    world.place.meter.late_when_cold = (0.3, 0.075, 0.013)
    world.ask(Kind.DEPLOY, "2.0")
    release = world.ended()
    assert (release.step, steps(release)) == (Step.DONE, list(release.plan))
    watched = [each for each in release.verdicts if each.step is Step.WATCH][-1]
    assert watched.last - watched.first + 1 == LOCAL.watch_minutes + 1
    assert first_warm_minute(release) == watched.last + 1, "the alarms about those minutes do not count"
