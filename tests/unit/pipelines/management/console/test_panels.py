"""The panels' HTML."""

import re

from pipelines.management.console.panels.banner import banner, status
from pipelines.management.console.panels.calendar import days_map
from pipelines.management.console.panels.destinations import destination_table
from pipelines.management.console.panels.heatmap import day_key, day_map
from pipelines.management.console.panels.hops import findings, hop_table
from pipelines.management.console.panels.losses import SHOWN_HOPS, day_hops
from pipelines.management.console.panels.node_latency import shares
from pipelines.management.console.panels.summary import tiles
from pipelines.management.console.panels.watched_fields import watched_table
from pipelines.management.console.poller import PollState, Snapshot, View
from shared.contracts.scorecard import DayCard, DayMark, HopRow, NamedEvent, Node, Now, Percentiles
from shared.contracts.timeline import Timeline
from tests.unit.pipelines.management.console.cards import mark

LOST = NamedEvent(hash="00ff", times=2, id="<script>", topic="events", partition=1, offset=42)
UNKNOWN = NamedEvent(hash="0abc", times=-1)


def test_a_hop_names_its_lost_and_doubled_events_and_where_to_look() -> None:
    hop = HopRow(
        node=Node.ROUTE, taken=5, given=4, lost=2, doubled=1, named=[LOST, UNKNOWN], unnamed=True,
        look_at=["events/1/40-44"],
    )  # fmt: skip
    told = findings([hop])
    assert "route: 2 lost, 1 doubled" in told
    assert "&lt;script&gt;" in told and "<script>" not in told
    assert "lost 2 times" in told and "events/1/42" in told and "00ff" in told
    assert "unknown id" in told and "record no longer found" in told and "0abc" in told
    assert "More events are lost or doubled than can be named." in told
    assert "events/1/40-44" in told


def test_a_hop_that_lost_nothing_names_nothing() -> None:
    assert findings([HopRow(node=Node.INGEST, taken=5, given=5, look_at=["collected/0/1-2"])]) == ""


def test_nought_is_quiet_and_a_loss_stands_out() -> None:
    table = hop_table("hops", [HopRow(node=Node.TRANSMIT, pipe="p&q", taken=1_234, given=1_233, lost=1)])
    assert 'data-hop="transmit · p&amp;q"' in table
    assert '<td class="number bad" data-name="lost">1</td>' in table
    assert '<td class="number zero" data-name="doubled">0</td>' in table
    assert '<td class="number" data-name="taken">1,234</td>' in table


def test_of_all_tenants_a_hop_names_the_pipes_tenant() -> None:
    rows = [
        HopRow(node=Node.TRANSMIT, tenant=tenant, pipe="p", taken=1, given=1) for tenant in ("acme", "zoo")
    ]
    table = hop_table("hops", rows)
    assert 'data-hop="transmit · acme/p"' in table and 'data-hop="transmit · zoo/p"' in table


def test_of_many_pipes_the_worst_are_shown_below_what_comes_before_them_and_the_rest_is_counted() -> None:
    pipes = [HopRow(node=Node.TRANSMIT, pipe=f"p{n:03}", taken=9, given=9, lost=n % 7) for n in range(900)]
    table = day_hops([*pipes, HopRow(node=Node.INGEST, taken=5, given=5)])
    shown = re.findall(r'data-hop="([^"]+)"', table)
    worst = [f"transmit · {hop.pipe}" for hop in pipes if hop.lost == 6]
    assert shown == ["ingest", *worst][:SHOWN_HOPS]
    assert "And 851 hops more" in table
    assert "more" not in day_hops(pipes[:SHOWN_HOPS])


def test_a_days_map_holds_each_minute_once() -> None:
    first = 29_000_000 // 1440 * 1440
    marks = [mark(first + 5), mark(first + 6, spent=True), mark(first + 60, settled=False)]
    drawn = day_map(marks, first, first + 100)
    widths = re.findall(r'<g class="run ([a-z-]+)"><title>[^<]*</title><rect [^>]*width="(\d+)"', drawn)
    assert sum(int(width) for _, width in widths) == 1440
    assert [(style, width) for style, width in widths if style in ("good", "spent", "not-settled")] == [
        ("good", "1"), ("spent", "1"), ("not-settled", "1"),
    ]  # fmt: skip
    key = day_key(marks, first, first + 100)
    assert '<span data-state="spent">1</span>' in key and '<span data-state="to-come">1,339</span>' in key


def test_the_last_days_are_all_there_and_say_their_nines() -> None:
    days = days_map((DayMark(day="2026-11-20", nines=2.46, spent=5, minutes=1440, lost=3),), "2026-11-22", 90)
    assert days.count("<button") == 90
    assert "2026-11-20: 2.4 nines, 5 minutes spent, 3 events lost" in days
    assert 'data-pick="2026-11-22"' in days and 'data-pick="2026-08-25"' in days


def test_shares_of_nothing_say_when_there_will_be_figures() -> None:
    assert "No figures yet" in shares({})
    assert "33 %" in shares({Node.INGEST: 1.0, Node.ROUTE: 2.0})


def test_before_the_meters_first_look_no_figure_is_shown_as_if_it_were_current() -> None:
    behind = polled(at_ms=0, behind=True)
    assert "meter behind" in status(PollState(behind)) and "42 s behind" in banner(PollState(behind))
    shown = tiles(behind)
    figures = ("rate", "p95", "loss", "nines", "left")
    assert values(shown, *figures) == dict.fromkeys(figures, "\u2013")
    assert "no event in" not in shown and "0 of 0" not in shown
    assert "No destinations yet" not in destination_table(behind)
    assert "No field was watched" not in watched_table(behind)


def test_a_quiet_side_shows_its_zeros() -> None:
    quiet = polled(at_ms=1, behind=False)
    assert "meter up to date" in status(PollState(quiet)) and banner(PollState(quiet)) == ""
    assert values(tiles(quiet), "rate", "p95", "loss") == {"rate": "0.0", "p95": "\u2013", "loss": "0"}
    assert "No destinations yet" in destination_table(quiet)


def values(shown: str, *names: str) -> dict[str, str]:
    found = dict(re.findall(r'data-value="([a-z0-9]+)">([^<]*)<', shown))
    return {name: found[name] for name in names}


def polled(*, at_ms: int, behind: bool) -> Snapshot:
    """The snapshot of a side without events today; `behind` makes it 42 s late."""
    none, today = Percentiles(), DayCard(tenant="*", day="2025-02-20")
    now = Now(
        tenant="*", at_ms=at_ms, rate=0.0, end_to_end=none, inside=none, loss_percent=0.0, nines=None,
        behind_seconds=42.0 if behind else 0.0, behind=behind, open_alarms=0,
    )  # fmt: skip
    return Snapshot(
        view=View("*", 1), at_ms=29_000_000 * 60_000, now=now, cards=(), day=today, marks=(), days=(),
        destinations=(), skews=(), alarms=(), quiet=(), tenants=(), timeline=Timeline(), slow_ms=0,
    )  # fmt: skip


def test_a_console_that_never_reached_observe_says_why_and_what_to_do() -> None:
    state = PollState(None, "http://observe:8089 does not answer: refused", 5)
    assert "no figures yet" in status(state)
    assert "does not answer: refused" in banner(state) and "hifi doctor" in banner(state)
    assert banner(PollState()) == ""
