"""Each rule fires when it should, and not on a healthy side."""

from typing import Any

import pytest

from pipelines.control.observe.alarms.history import History, updated
from pipelines.control.observe.alarms.inputs import DeadLetters, Inputs, NodeProgress, SourceMinutes
from pipelines.control.observe.alarms.rules import evaluate
from shared.contracts.alarms import AlarmKind
from shared.contracts.documents import WARM_UP, Catalogue
from shared.contracts.scorecard import ALL_TENANTS, HopRow, Node
from tests.unit.pipelines.control.observe.alarm_inputs import (
    MINUTE,
    NOW,
    PUBLISHED,
    card,
    cards,
    destination,
    found,
    inputs,
    kinds,
    lossy,
    settings,
)


def only(at: Inputs, kind: AlarmKind, **given: Any) -> str:
    """The text of the only finding, which must have this kind."""
    results = found(at, **given)
    assert [each.kind for each in results] == [kind]
    return results[0].text


def test_a_day_of_good_minutes_raises_nothing() -> None:
    minutes = [card(MINUTE - ago) for ago in range(1_440)]
    source = SourceMinutes(tenant="shop", name="web", minutes=[each.minute for each in minutes])
    progress = NodeProgress(node="route", readable=0, moved_ms=0)
    quiet = inputs(*minutes, sources=[source], nodes=[progress], destinations=[destination()], rate=1_000.0)
    assert found(quiet, alarm_rating=10_000) == []


def test_late_waiting_and_settling_events_are_no_alarm() -> None:
    settling = card(MINUTE, settled=False, good=3, under_way=97, sli=0.03)
    waiting = card(MINUTE - 9, waiting=4, good=96)
    late = card(MINUTE - 10, late=50)
    assert found(inputs(settling, waiting, late)) == []


def test_a_proven_loss_names_minute_hop_counts_percent_and_ids() -> None:
    text = only(inputs(lossy(MINUTE - 4, lost=5)), AlarmKind.LOSS, alarm_loss_share=0.5)
    assert text == (
        "5 events of 100 lost at route in minute 2025-02-19 21:16 UTC, 5.00 %; "
        "ids: id-0, id-1, id-2 and 2 more; look at events/0/10-19"
    )


def test_one_lost_event_of_a_million_is_an_alarm() -> None:
    row = HopRow(node=Node.TRANSMIT, pipe="orders", taken=1_000_000, given=999_999, lost=1, unnamed=True)
    one = card(MINUTE - 4, total=1_000_000, good=999_999, lost=1, hops=[row])
    text = only(inputs(one), AlarmKind.LOSS)
    assert "1 event of 1,000,000 lost at transmit/orders" in text
    assert "0.0001 %" in text


def test_losses_of_all_tenants_together_are_not_said_twice() -> None:
    both = cards(lossy(MINUTE - 4)) | {ALL_TENANTS: [lossy(MINUTE - 4, tenant=ALL_TENANTS)]}
    assert [each.tenant for each in found(Inputs(at_ms=NOW, cards=both))] == ["shop"]


def test_a_loss_in_an_old_minute_is_news_when_it_becomes_known() -> None:
    """Events that waited in retry are found missing hours after their minute."""
    assert kinds(inputs(lossy(MINUTE - 1_300))) == [AlarmKind.LOSS]


def test_a_loss_known_for_an_hour_raises_no_alarm() -> None:
    how, minute = settings(), lossy(MINUTE - 4)
    history = updated(History(), inputs(minute), how)
    later = inputs(minute, at_ms=NOW + 61 * 60_000)
    after = History.decode(updated(history, later, how).encode())
    assert not evaluate(later, after, PUBLISHED, how).findings

    more = inputs(lossy(MINUTE - 4, lost=2), at_ms=NOW + 62 * 60_000)
    again = updated(after, more, how)
    assert AlarmKind.LOSS in [each.kind for each in evaluate(more, again, PUBLISHED, how).findings]


def test_the_loss_rate_counts_dead_letters_that_are_hifis_own_fault() -> None:
    minutes = [card(MINUTE - ago, dead=2) for ago in range(1, 11)]
    own = [DeadLetters(tenant="shop", minute=each.minute, reasons={"- internal": 2}) for each in minutes]
    text = only(inputs(*minutes, dead=own), AlarmKind.LOSS_RATE)
    assert text.startswith(
        "2.00 % of 1,000 owed deliveries failed in the last 60 minutes: 0 events lost, 20 dead"
    )


@pytest.mark.parametrize("reason", ["401 refused", "410 refused", "- transform_failed", "503 time_over"])
def test_dead_letters_that_are_the_customers_fault_count_neither_as_loss_nor_as_slow(reason: str) -> None:
    minutes = [card(MINUTE - ago, dead=50, customer_dead=50, good=50) for ago in range(1, 31)]
    theirs = [DeadLetters(tenant="shop", minute=each.minute, reasons={reason: 50}) for each in minutes]
    assert found(inputs(*minutes, dead=theirs)) == []


def test_exactly_one_per_cent_is_not_over_the_threshold() -> None:
    own = [DeadLetters(tenant="shop", minute=MINUTE, reasons={"- internal": 1})]
    assert found(inputs(card(MINUTE, dead=1), dead=own)) == []


def test_a_few_doubled_events_of_a_crash_are_no_alarm_and_many_are() -> None:
    assert found(inputs(card(MINUTE, total=10_000, good=10_000, doubled=10))) == []
    text = only(inputs(card(MINUTE, total=10_000, good=10_000, doubled=11)), AlarmKind.DOUBLED)
    assert "11 events doubled" in text
    assert "0.11 % of 10,000 owed" in text


def test_the_first_slow_minute_burns_fast_and_the_third_of_six_hours_slowly() -> None:
    slow = {"good": 94}
    one = found(inputs(card(MINUTE - 4, **slow)))
    assert [(each.kind, each.subject) for each in one] == [(AlarmKind.BURN, "fast")]
    assert "16.7 times what three nines a day allow" in one[0].text
    assert "the worst had 94.00 %" in one[0].text

    two = inputs(card(MINUTE - 20, **slow), card(MINUTE - 300, **slow), card(MINUTE))
    assert found(two) == []
    three = inputs(*(card(MINUTE - ago, **slow) for ago in (20, 200, 300)), card(MINUTE))
    assert [(each.kind, each.subject) for each in found(three)] == [(AlarmKind.BURN, "slow")]


def test_events_that_may_still_be_in_time_make_no_minute_slow() -> None:
    assert found(inputs(card(MINUTE - 4, good=0, under_way=100, in_time=100))) == []
    assert found(inputs(card(MINUTE - 4, good=57, under_way=40, in_time=40))) == []
    slow = found(inputs(card(MINUTE - 4, good=56, under_way=40, in_time=40)))
    assert [each.kind for each in slow] == [AlarmKind.BURN]


def test_exactly_ninety_five_per_cent_is_a_good_minute() -> None:
    assert found(inputs(card(MINUTE - 4, good=95))) == []


def test_a_slow_warm_up_burns_nothing_and_what_it_loses_is_an_alarm() -> None:
    """The load that warmed up a new side must not keep it from traffic."""
    assert found(Inputs(at_ms=NOW, cards={WARM_UP: [card(MINUTE - 4, tenant=WARM_UP, good=10)]})) == []
    assert kinds(inputs(lossy(MINUTE - 4, tenant=WARM_UP))) == [AlarmKind.LOSS]


def test_a_slow_minute_long_ago_burns_nothing_where_nothing_was_sent_since() -> None:
    assert found(inputs(card(MINUTE - 30, good=0))) == []


def test_a_node_that_stands_still_with_work_before_it_is_stalled() -> None:
    stuck = NodeProgress(node="transmit_slow", readable=12, moved_ms=NOW - 75_000)
    text = only(inputs(nodes=[stuck]), AlarmKind.STALLED)
    assert text == "transmit_slow has read nothing for 75 s, with 12 records waiting"


@pytest.mark.parametrize(
    "progress",
    [
        NodeProgress(node="route", readable=0, moved_ms=NOW - 3_600_000),
        NodeProgress(node="route", readable=50_000, moved_ms=NOW - 59_000),
    ],
)
def test_an_idle_node_and_a_slow_one_are_not_stalled(progress: NodeProgress) -> None:
    assert found(inputs(nodes=[progress])) == []


def waits(*counts: int) -> list[AlarmKind]:
    """Findings of one evaluation per minute, each with this number of waiting events."""
    how, history, results = settings(), History(), []
    for at, waiting in enumerate(counts):
        now = inputs(at_ms=NOW + at * 60_000, waiting={("shop", "orders"): waiting})
        history = History.decode(updated(history, now, how).encode())
        results = [each.kind for each in evaluate(now, history, PUBLISHED, how).findings]
    return results


def test_a_backlog_that_grows_for_ten_minutes_is_an_alarm() -> None:
    assert waits(*range(100, 1_200, 100)) == [AlarmKind.BACKLOG]


@pytest.mark.parametrize(
    "counts",
    [
        range(100, 1_000, 100),  # for less than ten minutes
        [500] * 15,  # steady
        range(2_000, 500, -100),  # drains
        [100, 900] * 8,  # comes and goes
        [900, 100] * 3 + [500] * 7,  # was larger before
        range(1, 12),  # few
        [0] * 15,
    ],
)
def test_other_backlogs_are_none(counts: list[int]) -> None:
    assert waits(*counts) == []


def test_looks_every_five_seconds_see_the_same_growth() -> None:
    how, history = settings(), History()
    for at in range(0, 14 * 60, 5):
        now = inputs(at_ms=NOW + at * 1000, waiting={("shop", "orders"): 1_000 + at})
        history = updated(history, now, how)
    assert [each.kind for each in evaluate(now, history, PUBLISHED, how).findings] == [AlarmKind.BACKLOG]
    assert all(len(samples) <= 14 for samples in history.backlogs.values())


def sends(minutes: list[int], **given: object) -> Inputs:
    return inputs(sources=[SourceMinutes(tenant="shop", name="web", minutes=minutes)], **given)


def test_a_source_that_stops_is_silent_until_it_sends_again() -> None:
    hour = list(range(MINUTE - 64, MINUTE - 4))
    text = only(sends(hour), AlarmKind.SILENT)
    assert text.startswith("source web has sent nothing for 5 minutes, since 2025-02-19 21:15 UTC")
    assert kinds(sends(hour, at_ms=NOW + 20 * 3_600_000)) == [AlarmKind.SILENT]
    assert kinds(sends([*hour, MINUTE])) == []


@pytest.mark.parametrize(
    "minutes",
    [
        list(range(MINUTE - 63, MINUTE - 3)),  # four minutes: not yet
        list(range(MINUTE - 20, MINUTE - 10)),  # new
        list(range(MINUTE - 120, MINUTE - 10, 5)),  # sends now and then
        [],
    ],
)
def test_other_sources_are_not_silent(minutes: list[int]) -> None:
    assert found(sends(minutes)) == []


def test_a_pipe_and_a_source_of_another_tenant_with_published_names_are_unknown() -> None:
    hour = list(range(MINUTE - 70, MINUTE - 10))
    other = [SourceMinutes(tenant="zoo", name="web", minutes=hour)]
    assert found(inputs(sources=other)) == []
    how, history = settings(), History()
    for at in range(11):
        waiting = {("shop", "orders"): 500, ("zoo", "orders"): 100 + at * 50}
        now = inputs(at_ms=NOW + at * 60_000, waiting=waiting)
        history = updated(history, now, how)
    (finding,) = evaluate(now, history, PUBLISHED, how).findings
    assert (finding.kind, finding.tenant, finding.subject) == (AlarmKind.BACKLOG, "zoo", "orders")
    assert "hook" not in finding.text, "the destination of the shop's pipe"


def test_a_deleted_source_is_not_silent() -> None:
    now = sends(list(range(MINUTE - 70, MINUTE - 10)))
    history = updated(History(), now, settings())
    assert not evaluate(now, history, Catalogue(), settings()).findings
    assert evaluate(now, history, PUBLISHED, settings()).findings


def test_before_the_documents_are_known_no_source_is_silent_and_no_such_alarm_ends() -> None:
    now = sends(list(range(MINUTE - 70, MINUTE - 10)))
    evaluation = evaluate(now, updated(History(), now, settings()), None, settings())
    assert not evaluation.findings
    documents = {AlarmKind.SILENT, AlarmKind.BACKLOG, AlarmKind.CUSTOMER, AlarmKind.SKEW}
    assert evaluation.unknown == documents


def test_a_backlog_names_pipe_destination_and_how_much_more_it_is() -> None:
    how, history = settings(), History()
    for at in range(11):
        now = inputs(at_ms=NOW + at * 60_000, waiting={("shop", "orders"): 100 + at * 50})
        history = updated(history, now, how)
    (finding,) = evaluate(now, history, PUBLISHED, how).findings
    assert (finding.tenant, finding.subject) == ("shop", "orders")
    assert finding.text == (
        "600 events of pipe orders to destination hook wait to be retried, 500 more than 10 minutes ago"
    )


def test_traffic_over_its_part_of_the_rating_is_an_alarm_only_where_a_rating_is_set() -> None:
    assert found(inputs(rate=1_000_000.0)) == []
    assert found(inputs(rate=8_000.0), alarm_rating=10_000) == []
    text = only(inputs(rate=8_100.0), AlarmKind.RATING, alarm_rating=10_000)
    assert text == "8,100 events/s are 81 % of the side's rating, 10,000 events/s; the alarm is at 80 %"


def test_while_the_meter_is_behind_no_source_is_silent_and_no_alarm_ends() -> None:
    behind = sends(list(range(MINUTE - 64, MINUTE - 4)), behind_seconds=61.0)
    evaluation = evaluate(behind, updated(History(), behind, settings()), PUBLISHED, settings())
    assert [each.kind for each in evaluation.findings] == [AlarmKind.METER]
    assert evaluation.unknown == frozenset(AlarmKind) - {AlarmKind.METER, AlarmKind.STALLED}
    assert not evaluate(inputs(behind_seconds=60.0), History(), PUBLISHED, settings()).findings
