"""The figures of a card, of a day and of a calendar."""

import math
from collections.abc import Sequence
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.observe.ledger.minute_sums import StageLags, merged_lags
from pipelines.control.observe.scorecards.day_cards import day_card, day_mark, minute_mark, nines
from pipelines.control.observe.scorecards.destinations import destination_health
from pipelines.control.observe.scorecards.minute_cards import JudgedMinute, empty_card, total_card
from pipelines.control.observe.scorecards.node_lags import node_lags
from pipelines.control.observe.verdicts.verdicts import judge
from shared.contracts.destination_health import DestinationHealth
from shared.contracts.lag_histogram import ERROR
from shared.contracts.ledger import Stage
from shared.contracts.scorecard import ALL_TENANTS, MinuteCard, Node
from tests.unit.pipelines.control.observe.judged import applied, card_of, settled
from tests.unit.pipelines.control.observe.world import LATER, MINUTE, SETTLE, World

DAY = date(2025, 2, 20)


def thousand(slow: int = 0, waiting: int = 0, dead: int = 0) -> MinuteCard:
    """A card of a thousand deliveries, of which a number is not good."""
    ends = [("slow", slow), ("waiting", slow + waiting), ("dead", slow + waiting + dead)]

    def outcome(event_id: str, _: str) -> str:
        return next((word for word, below in ends if int(event_id) < below), "delivered")

    return card_of(World().send([str(at) for at in range(1_000)], outcomes=outcome))


@pytest.mark.parametrize(("slow", "spent"), [(0, False), (50, False), (51, True), (1_000, True)])
def test_a_minute_is_spent_below_95_percent(slow: int, spent: bool) -> None:
    card = thousand(slow=slow)
    assert card.sli == pytest.approx(1 - slow / 1_000, abs=1e-12)
    assert card.spent == spent
    assert bool(card.why) == spent


def test_what_falls_just_short_of_the_promise_is_not_said_to_keep_it() -> None:
    card = card_of(
        World().send(
            [str(at) for at in range(10_000)], outcomes=lambda i, _: "slow" if int(i) < 504 else "delivered"
        )
    )
    assert card.why == [
        "94.96 % of 10,000 deliveries left hifi within 1 s of entering it, 95 % are promised."
    ]


def test_undelivered_is_not_good_and_the_card_says_why() -> None:
    card = thousand(slow=20, dead=40)
    assert (card.total, card.good, card.delivered, card.dead, card.lost) == (1_000, 940, 960, 40, 0)
    assert card.why == [
        "94 % of 1,000 deliveries left hifi within 1 s of entering it, 95 % are promised; 40 dead letters."
    ]


@pytest.mark.parametrize("outcome", ["waiting", "retried"])
@pytest.mark.parametrize(("slow", "side"), [(0, False), (50, False), (51, True)])
def test_a_minute_that_a_failing_destination_spends_does_not_count_against_the_side(
    outcome: str, slow: int, side: bool
) -> None:
    """Neither while its events wait, nor after they have arrived late."""
    words = {True: outcome, False: "delivered"}
    world = World().send([str(at) for at in range(slow)], outcomes=lambda _i, _p: "slow")
    world.send([str(at) for at in range(slow, 1_000)], outcomes=lambda i, _: words[int(i) >= 900])
    card = card_of(world, world.passed(nodes=()))
    assert (card.held_up, card.lost) == (100, 0)
    assert (card.spent, card.slow_side) == (True, side)


def test_events_that_fail_again_and_again_are_held_up_once() -> None:
    world = World(doubled={(Stage.RETRYING, "p1", "a")})
    assert card_of(world.send(["a", "b"], outcomes=lambda _i, _p: "waiting")).held_up == 2


def test_a_single_proven_loss_spends_a_minute() -> None:
    world = World(lost={(Stage.FIRST, "p1", "7")}).send([str(at) for at in range(1_000)])
    card = card_of(world)
    assert card.spent
    assert card.why == ["1 of 1,000 deliveries lost (0.1 %): 1 at route."]


def test_a_minute_that_is_not_settled_is_not_spent_yet() -> None:
    world = World().send(["a", "b"], outcomes=lambda _i, _p: "slow")
    card = card_of(world, world.passed(1))
    assert (card.settled, card.spent, card.sli) == (False, False, 0.0)


def test_late_events_are_counted() -> None:
    assert card_of(World().send(["a", "b"], late=True).send(["c"])).late == 2


def test_every_delivery_owed_is_delivered_dead_waiting_or_lost() -> None:
    words = ("delivered", "slow", "dead", "retried")
    world = World(lost={(Stage.DELIVERED, "p2", "3"), (Stage.FURTHER, "p2", "6"), (Stage.EVENTS, "", "9")})
    world.send([str(at) for at in range(100)], ("p1", "p2"), lambda i, _: words[int(i) % 4])
    card = card_of(world)
    assert card.lost == 3
    assert card.total == card.delivered + card.dead + card.waiting + card.under_way + card.lost


def test_lags_are_shown_by_node_within_the_histograms_error() -> None:
    card = card_of(World().send([str(at) for at in range(50)], ("p1", "p2")))
    found = {row.node: (row.lag_in.p95, row.lag_out.p95, row.process_ms) for row in card.nodes}
    wanted = {
        Node.COLLECT: (15, 20, 5),
        Node.INGEST: (20, 50, 30),
        Node.ROUTE: (50, 100, 50),
        Node.TRANSMIT: (100, 200, 100),
    }
    assert found.keys() == wanted.keys()
    for node, (lag_in, lag_out, process) in wanted.items():
        near_in, near_out, near_process = found[node]
        assert near_in == pytest.approx(lag_in, rel=ERROR)
        assert near_out == pytest.approx(lag_out, rel=ERROR)
        assert near_process == pytest.approx(process, abs=ERROR * (lag_in + lag_out))
    assert card.end_to_end.p95 == pytest.approx(200, rel=ERROR)
    assert card.inside.p95 == pytest.approx(190, rel=ERROR)


histograms = st.dictionaries(st.integers(0, 400), st.integers(1, 1_000), max_size=20)
lags = st.dictionaries(
    st.sampled_from(Stage), st.builds(StageLags, lag_in=histograms, lag_out=histograms), max_size=8
)


@given(lags)
def test_no_process_duration_is_negative(found: dict[Stage, StageLags]) -> None:
    assert all(row.process_ms is None or row.process_ms >= 0 for row in node_lags(found))


def test_all_tenants_together_are_the_sum() -> None:
    slow = World(lost={(Stage.DELIVERED, "p1", "x")}).send(["x", "y"], tenant="one")
    slow.send([str(at) for at in range(8)], ("p1",), tenant="two")
    book = applied(slow.ranges())
    passed = slow.passed()
    parts = [
        JudgedMinute(state, judge(state, passed, LATER, SETTLE))
        for state in (book.minutes[tenant, MINUTE] for tenant in ("one", "two"))
    ]
    card = total_card(MINUTE, parts)
    assert (card.tenant, card.total, card.delivered, card.lost, card.sli) == (ALL_TENANTS, 10, 9, 1, 0.9)
    assert [(row.node, row.full_pipe, row.taken) for row in card.hops] == [
        ("ingest", "", 10),
        ("route", "", 10),
        ("transmit", "one/p1", 2),
        ("transmit", "two/p1", 8),
    ]
    assert card.spent
    assert "1 at transmit (one/p1)" in " ".join(card.why)
    assert sum(len(row.named) for row in card.hops) == 1


def test_a_minute_without_events_is_not_spent() -> None:
    card = empty_card("acme", MINUTE)
    assert (card.spent, card.sli, card.total, card.nodes) == (False, None, 0, [])
    assert total_card(MINUTE, []) == empty_card(ALL_TENANTS, MINUTE)
    mark = minute_mark(card)
    assert (mark.minute, mark.total, mark.spent, mark.sli) == (MINUTE, 0, False, None)


def test_a_day_sums_its_minutes() -> None:
    world = World(lost={(Stage.EVENTS, "", "9")}).send([str(at) for at in range(100)], ("p1", "p2"))
    found = settled(applied(world.ranges()), world)
    fine, bad = thousand(), card_of(world)
    day = day_card("acme", DAY, [bad, fine, empty_card("acme", MINUTE)], merged_lags([found.state.lags] * 2))
    assert (day.day, day.minutes, day.total, day.lost) == ("2025-02-20", 2, fine.total + bad.total, 1)
    assert [(spent.minute, spent.why) for spent in day.spent] == [(MINUTE, bad.why)]
    assert day.nines == pytest.approx(math.log10(1_440))
    assert day.left == 0.44
    assert day.loss_percent == pytest.approx(100 / day.total)
    assert day.end_to_end.p95 == bad.end_to_end.p95
    (ingest,) = [row for row in day.hops if row.node is Node.INGEST]
    assert (ingest.taken, ingest.lost, ingest.named, ingest.look_at) == (1_100, 1, [], [])
    mark = day_mark(day)
    assert (mark.nines, mark.spent, mark.minutes, mark.lost) == (day.nines, 1, 2, 1)


def test_nines_and_the_rest_of_the_days_budget() -> None:
    assert nines(0) == 9.0
    assert nines(1_440) == 0.0
    assert nines(144) == pytest.approx(1.0)
    assert [nines(spent) for spent in range(1_441)] == sorted(map(nines, range(1_441)), reverse=True)


def test_a_day_without_a_judged_minute_has_no_nines() -> None:
    day = day_card("acme", DAY, [empty_card("acme", MINUTE)], {})
    assert (day.nines, day.minutes, day.left, day.spent) == (None, 0, 1.44, [])


def health_of(minutes: Sequence[JudgedMinute]) -> list[DestinationHealth]:
    return destination_health(minutes, minutes, [], 600.0, {})


def test_destinations_are_shown_with_their_failures() -> None:
    words = {"down": "dead", "flaky": "retried", "good": "delivered"}
    world = World()
    for pipe in words:
        world.send([f"{pipe}-{at}" for at in range(20)], (pipe,), lambda _, p: words[p])
    found = {health.name: health for health in health_of([settled(applied(world.ranges()), world)])}
    assert [(name, each.health) for name, each in found.items()] == [
        ("to-down", "down"),
        ("to-flaky", "failing"),
        ("to-good", "good"),
    ]
    assert (found["to-down"].failed, found["to-down"].delivered) == (20, 0)
    assert found["to-flaky"].reasons == {"503 refused": 20}
    assert (found["to-good"].pipes, found["to-good"].breaker, found["to-good"].lane) == (
        ["good"],
        "closed",
        "fast",
    )


def test_waiting_events_are_shown_at_their_destination() -> None:
    world = World().send([str(at) for at in range(9)], outcomes=lambda _i, _p: "waiting")
    minutes = [settled(applied(world.ranges()), world, world.passed(nodes=()))]
    (health,) = health_of(minutes)
    assert (health.name, health.waiting, health.health) == ("to-p1", 9, "down")
    (later,) = destination_health([], minutes, [], 600.0, {})
    assert (later.name, later.waiting, later.failed, later.health) == ("to-p1", 9, 0, "down")
    assert later.oldest_waiting_ms == MINUTE * 60_000


def test_a_known_destination_is_shown_before_it_was_sent_anything() -> None:
    (health,) = destination_health([], [], [("acme", "new")], 600.0, {})
    assert (health.tenant, health.name, health.health, health.success) == ("acme", "new", "idle", None)
    assert (health.events_per_second, health.last_error, health.oldest_waiting_ms) == (0.0, "", None)


def test_a_destinations_rate_success_and_last_error_cover_the_window() -> None:
    world = World().send(["1"], outcomes=lambda _i, _p: "dead").send([str(at) for at in range(2, 11)])
    (health,) = health_of([settled(applied(world.ranges()), world)])
    assert (health.success, health.events_per_second, health.last_error) == (0.9, 9 / 600, "503 refused")
