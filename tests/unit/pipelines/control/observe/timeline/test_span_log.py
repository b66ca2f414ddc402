"""The log of activities and of the side's stability."""

from collections.abc import Sequence

from msgspec.structs import replace

from pipelines.control.observe.timeline.span_log import KEPT_MS, MOST, SpanLog
from pipelines.control.observe.timeline.spans import GAP_MS, MOST_REASONS
from shared.contracts.diamond.activities import Action, Activity, Actor
from shared.contracts.diamond.stability import SILENT, Stability
from shared.contracts.timeline import Health, Timeline

T0 = 1_800_000_000_000
STABLE = Stability(stable=True)
RELEASE = Activity(
    id="r", action=Action.REPLACE_CODE, reason="release 2", phase="deploy dark", owner="d", fence=1,
    since_ms=T0 - 1_000, lease_seconds=15,
)  # fmt: skip
Sample = tuple[int, Stability, Sequence[Activity]]


def recorded(*samples: Sample) -> SpanLog:
    log = SpanLog()
    for at, health, activities in samples:
        log.take(health, activities, T0 + at)
    return log


def all_of(log: SpanLog, now: int) -> Timeline:
    return log.between(0, T0 + 2 * KEPT_MS, T0 + now)


def spans(log: SpanLog, now: int) -> list[tuple[Health, int, int | None]]:
    return [
        (each.health, each.from_ms - T0, None if each.until_ms is None else each.until_ms - T0)
        for each in all_of(log, now).health
    ]


def unstable(*reasons: str) -> Stability:
    return Stability(stable=False, reasons=reasons)


def test_what_is_seen_again_is_one_span_and_a_change_begins_where_it_ended() -> None:
    log = recorded((0, STABLE, []), (2_000, STABLE, []), (4_000, unstable("late"), []), (6_000, SILENT, []))
    assert spans(log, 7_000) == [
        (Health.STABLE, 0, 2_000),
        (Health.UNSTABLE, 2_000, 4_000),
        (Health.UNKNOWN, 4_000, None),
    ]


def test_of_spans_that_begin_in_the_same_millisecond_each_is_kept_in_the_order_of_time() -> None:
    canary = replace(RELEASE, action=Action.STEP_FORWARD, phase="canary", since_ms=T0)
    dark = replace(RELEASE, since_ms=T0)
    log = recorded((0, unstable("late"), [dark]))
    taken = log.take(STABLE, [canary], T0 + 2_000)
    assert taken.news
    found = [(Health.UNSTABLE, 0, 0), (Health.STABLE, 0, None)]
    assert spans(log, 2_000) == found
    assert [(each.phase, each.until_ms) for each in all_of(log, 2_000).activities] == [
        ("deploy dark", T0), ("canary", None),
    ]  # fmt: skip
    after = SpanLog()
    after.restore([*reversed(all_of(log, 2 * GAP_MS).health), *reversed(all_of(log, 2 * GAP_MS).activities)])
    after.take(STABLE, [canary], T0 + 4_000)
    assert spans(after, 4_000) == found
    assert [each.phase for each in all_of(after, 4_000).activities] == ["deploy dark", "canary"]


def test_a_long_gap_between_looks_is_in_no_span() -> None:
    log = recorded((0, STABLE, []), (GAP_MS + 1, STABLE, []))
    assert spans(log, GAP_MS + 1) == [(Health.STABLE, 0, 0), (Health.STABLE, GAP_MS + 1, None)]
    assert spans(log, 3 * GAP_MS)[-1] == (Health.STABLE, GAP_MS + 1, GAP_MS + 1), "it looks no more"


def test_reasons_that_differ_by_a_figure_are_kept_once_and_as_they_were_said_last() -> None:
    behind: list[Sample] = [
        (2_000 * n, unstable(f"the meter is {n} s behind", "alarm loss: 1"), []) for n in range(90)
    ]
    (span,) = all_of(recorded(*behind), 180_000).health
    assert span.reasons == ("the meter is 89 s behind", "alarm loss: 1")


def test_reasons_about_two_pipes_are_two_reasons() -> None:
    lost = ("3 events lost at transmit/orders-1", "3 events lost at transmit/orders-2")
    (span,) = all_of(recorded((0, unstable(*lost), []), (2_000, unstable(*lost), [])), 2_000).health
    assert span.reasons == lost


def test_a_new_reason_is_kept_however_many_there_were() -> None:
    many: list[Sample] = [(2_000 * n, unstable(f"event id-{n} lost"), []) for n in range(30)]
    (span,) = all_of(recorded(*many, (60_000, unstable("doubled"), [])), 60_000).health
    assert span.reasons[-2:] == ("event id-29 lost", "doubled")
    assert len(span.reasons) == MOST_REASONS


def test_an_activity_is_shown_by_phase_from_its_own_beginning_until_it_was_last_seen() -> None:
    canary = replace(RELEASE, action=Action.STEP_FORWARD, phase="canary", fence=2)
    log = recorded((0, STABLE, [RELEASE]), (2_000, STABLE, [RELEASE]), (4_000, STABLE, [canary]))
    first, second = all_of(log, 5_000).activities
    assert (first.actor, first.reason, first.phase) == (Actor.DEPLOYER, "release 2", "deploy dark")
    assert (first.from_ms, first.until_ms) == (T0 - 1_000, T0 + 2_000)
    assert (second.phase, second.from_ms, second.until_ms) == ("canary", T0 + 2_000, None)
    log.take(STABLE, [], T0 + 6_000)
    assert all_of(log, 7_000).activities[-1].until_ms == T0 + 4_000


def test_a_restart_goes_on_with_what_it_finds() -> None:
    before = recorded((0, STABLE, [RELEASE]))
    taken = before.take(STABLE, [RELEASE], T0 + 2_000)
    after = SpanLog()
    after.restore(taken.spans.values())
    after.take(STABLE, [RELEASE], T0 + 2_000 + GAP_MS)
    found = all_of(after, 2_000 + GAP_MS)
    assert [(each.from_ms, each.until_ms) for each in found.health] == [(T0, None)]
    assert [(each.from_ms, each.until_ms) for each in found.activities] == [(RELEASE.since_ms, None)]


def test_only_what_begins_or_ends_is_news() -> None:
    log = SpanLog()
    news = [
        log.take(health, activities, T0 + 1_000 * n).news
        for n, (health, activities) in enumerate(
            [(STABLE, []), (STABLE, []), (STABLE, [RELEASE]), (STABLE, [RELEASE]), (STABLE, []), (SILENT, [])]
        )
    ]
    assert news == [True, False, True, False, True, True]


def test_activities_that_are_not_known_are_none() -> None:
    log = SpanLog()
    log.take(STABLE, None, T0)
    assert all_of(log, 0).activities == []


def test_a_query_answers_what_touches_its_time() -> None:
    log = recorded((0, STABLE, [RELEASE]), (2_000, unstable("late"), []), (4_000, STABLE, []))
    found = log.between(T0 + 1_000, T0 + 2_000, T0 + 4_000)
    assert [each.health for each in found.health] == [Health.UNSTABLE]
    assert found.activities == []


def test_no_more_is_kept_than_a_day_and_so_many_spans() -> None:
    log = recorded((0, STABLE, []), (KEPT_MS + 1, STABLE, []))
    assert spans(log, KEPT_MS + 1) == [(Health.STABLE, KEPT_MS + 1, None)]
    flapping = recorded(*((1_000 * n, STABLE if n % 2 else unstable("x"), []) for n in range(MOST + 50)))
    assert len(all_of(flapping, 0).health) == MOST
