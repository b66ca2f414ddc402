"""Doubles and dead letters count when they are found, however old their minute is."""

from collections.abc import Sequence

from pipelines.control.observe.alarms.history import History, updated
from pipelines.control.observe.alarms.inputs import DeadLetters, Inputs
from pipelines.control.observe.alarms.rules import evaluate
from shared.contracts.alarms import AlarmKind
from shared.contracts.scorecard import MinuteCard
from tests.unit.pipelines.control.observe.alarm_inputs import (
    MINUTE,
    NOW,
    PUBLISHED,
    card,
    found,
    inputs,
    lossy,
    settings,
)

OLD = MINUTE - 65
RECENT = [card(MINUTE - ago) for ago in range(12)]
AGO_MS = 60_000


def kinds(history: History, now: Inputs) -> list[AlarmKind]:
    return [each.kind for each in evaluate(now, history, PUBLISHED, settings()).findings]


def after(before: History, *passes: Inputs) -> History:
    """The history after these findings, as another process reads it."""
    for each in passes:
        before = updated(before, each, settings())
    return History.decode(before.encode())


def at(minutes: int, *given: MinuteCard, dead: Sequence[DeadLetters] = ()) -> Inputs:
    """A look some minutes later; the side goes on unchanged."""
    return inputs(*RECENT, *given, at_ms=NOW + minutes * AGO_MS, dead=dead)


def doubled(count: int) -> MinuteCard:
    return card(OLD, total=1_000, good=1_000, doubled=count)


def test_doubles_that_are_found_an_hour_after_their_minute_are_an_alarm() -> None:
    before = after(History(), at(-1, doubled(0)))
    history = after(before, at(0, doubled(500)))
    (finding,) = found(at(0, doubled(500)), before)
    assert (finding.kind, finding.tenant) == (AlarmKind.DOUBLED, "shop")
    assert finding.text.startswith(
        "500 events doubled in the last 10 minutes and 1 earlier one, 25.00 % of 2,000"
    )
    assert kinds(after(history, at(9, doubled(500))), at(9, doubled(500))) == [AlarmKind.DOUBLED]
    assert kinds(after(history, at(11, doubled(500))), at(11, doubled(500))) == []


def test_a_count_that_is_corrected_and_comes_back_is_no_news() -> None:
    looks = at(0, doubled(500)), at(15, doubled(300)), at(16, doubled(0)), at(17), at(18, doubled(300))
    history = after(after(History(), at(-1)), *looks)
    assert kinds(history, looks[-1]) == []
    more = at(19, doubled(301))
    assert kinds(after(history, more), more) == [AlarmKind.DOUBLED]


def test_what_an_earlier_version_did_not_remember_is_no_news() -> None:
    now = at(0, doubled(500))
    assert kinds(after(History(), now), now) == []
    assert kinds(after(History(), now, at(30, doubled(500))), at(30, doubled(500))) == []


def test_what_is_remembered_ends_with_the_minutes_that_alarms_look_at() -> None:
    history = after(after(History(), at(-1)), at(0, doubled(500)))
    assert history.doubled
    assert after(history, inputs(at_ms=NOW + 24 * 60 * AGO_MS)).doubled == history.doubled
    assert not after(history, inputs(at_ms=NOW + 26 * 60 * AGO_MS)).doubled


def test_dead_letters_of_hifi_that_are_found_late_count_for_the_loss_rate() -> None:
    dead = [DeadLetters(tenant="shop", minute=OLD - 60, reasons={"- internal": 50, "404 refused": 50})]
    old = card(OLD - 60, dead=100)
    history = after(History(), at(-1, old))
    for now in (at(0, old, dead=dead), at(0, card(OLD - 60, dead=100, hifi_dead=50, customer_dead=50))):
        (finding,) = found(now, history)
        text = "3.85 % of 1,300 owed deliveries failed in the last 60 minutes and 1 earlier one: "
        text += "0 events lost, 50 dead letters"
        assert (finding.kind, finding.text[: len(text)]) == (AlarmKind.LOSS_RATE, text)
    known = after(history, at(0, old, dead=dead))
    assert kinds(after(known, at(61, old, dead=dead)), at(61, old, dead=dead)) == []


def test_a_loss_that_is_found_late_is_one_alarm() -> None:
    now = at(0, lossy(OLD - 60, lost=40))
    assert kinds(after(after(History(), at(-1)), now), now) == [AlarmKind.LOSS]
