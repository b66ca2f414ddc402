"""The page in a real Chromium shows the API's figures, and is readable on every screen."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from playwright.sync_api import expect

from pipelines.management.console.formatting import day_of
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.lag_histogram import histogram
from shared.contracts.ledger import Range, Stage, Tally
from shared.contracts.topics import Topic
from shared.runtime.clock import wall_clock
from tests.conftest import delete_records
from tests.console.conftest import Open
from tests.console.console_process import ConsoleProcess, running_console
from tests.console.reading import agrees, cell, series, tile
from tests.contract.observe.side import Side
from tests.harness.observe_process import ObserveProcess, running_observe
from tests.harness.waiting import eventually

LOST = [f"lost-{number}" for number in range(3)]
TWICE = "e0"
COUNTS = ("collected", "total", "delivered", "lost", "doubled", "under_way", "waiting", "dead")
HOP_COUNTS = ("taken", "given", "lost", "doubled", "under_way", "waiting", "dropped", "dead", "quarantined")


LAGS_MS = {Stage.COLLECTED: 30, Stage.EVENTS: 90, Stage.DELIVERED: 400}
ROUTED_MS = 180


class LateSide(Side):
    """A side where each node adds a different delay."""

    def put(self, found: Range) -> None:
        super().put(replace(found, tallies=[self._late(each) for each in found.tallies]))

    @staticmethod
    def _late(tally: Tally) -> Tally:
        late = histogram(np.full(tally.count, LAGS_MS.get(tally.stage, ROUTED_MS)))
        early = histogram(np.full(tally.count, 10))
        return replace(tally, lag_in=early if tally.lag_in else {}, lag_out=late)


def wrong_minute(topics: str) -> int:
    """Write a minute in which route lost three events and transmit sent one twice; returns epoch minutes."""
    minute, side = wall_clock() // MINUTE_MS - 2, LateSide(topics)
    side.whole([f"e{number}" for number in range(1_200)], minute, "warehouse", "alerts")
    side.collected(LOST, minute)
    side.each(Topic.EVENTS, LOST, minute)
    side.receipt([TWICE], minute, "warehouse")
    side.whole([f"f{number}" for number in range(50)], minute - 1, "warehouse")
    side.read()
    side.audit()
    return minute


@pytest.fixture(scope="module")
def minute(configured: str) -> int:
    delete_records(configured)
    return wrong_minute(configured)


@pytest.fixture(scope="module")
def observe(
    configured: str, minute: int, dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ObserveProcess]:
    with running_observe(configured, dynamodb_local, tmp_path_factory.mktemp("page")) as process:
        eventually(lambda: process.card(minute)["settled"] and named(process.card(minute)) >= {*LOST, TWICE})
        yield process


@pytest.fixture(scope="module")
def console(observe: ObserveProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    with running_console(observe.port, tmp_path_factory.mktemp("page") / "console.log") as process:
        yield process


def named(card: Any) -> set[str]:
    """The ids named on a card."""
    return {event["id"] for hop in card["hops"] for event in hop["named"]}


def test_the_numbers_are_the_apis(
    minute: int, observe: ObserveProcess, console: ConsoleProcess, open_page: Open
) -> None:
    page = open_page(f"{console.url}/?tenant=acme")
    row = page.locator(f"tr[data-pick='{minute}']")
    row.wait_for()
    card = observe.card(minute)
    assert card["lost"] == 3 and card["doubled"] == 1
    for name in COUNTS:
        assert agrees(cell(row, name), card[name]), name
    assert agrees(cell(row, "loss_percent"), card["loss_percent"])
    assert agrees(cell(row, "sli"), card["sli"] * 100)
    assert agrees(cell(row, "p95"), card["end_to_end"]["p95"])
    assert cell(row, "state") == "spent"

    def tiles_agree() -> bool:
        """Whether both agree when read at the same time: the page may be one poll behind."""
        now, day = observe.get("/v1/now?tenant=acme"), observe.get(f"/v1/days/{day_of(minute)}?tenant=acme")
        lag = now["end_to_end"]["p95"]
        return (
            agrees(tile(page, "rate"), now["rate"])
            and ("\u2013" in tile(page, "p95") if lag is None else agrees(tile(page, "p95"), lag))
            and agrees(tile(page, "loss"), now["loss_percent"])
            and agrees(tile(page, "nines"), now["nines"])
            and agrees(tile(page, "left"), day["left"])
        )

    eventually(tiles_agree, 60)
    page.locator("[data-testid=chart-lags] svg path").first.wait_for(state="attached")
    drawn = series(page, "chart-lags")
    for name in ("p50", "p95", "p99"):
        assert card["end_to_end"][name] == pytest.approx(
            max(v for v in drawn[name] if v is not None), abs=0.1
        )
    health = observe.get("/v1/destinations?tenant=acme")
    assert len(health) == 2
    for each in health:
        line = page.locator(f"tr[data-destination='{each['name']}']")
        assert agrees(cell(line, "delivered"), each["delivered"])
        assert each["health"] in cell(line, "health")


@pytest.mark.proof
def test_the_time_each_node_takes_is_the_apis(
    minute: int, observe: ObserveProcess, console: ConsoleProcess, open_page: Open
) -> None:
    page = open_page(f"{console.url}/?tenant=acme")
    page.locator(".key").wait_for()
    cards = observe.get("/v1/minutes?tenant=acme")
    events = sum(card["collected"] for card in cards)
    drawn = series(page, "chart-durations")
    for at, node in enumerate(("collect", "ingest", "route", "transmit")):
        added = [card["nodes"][at]["process_ms"] for card in cards]
        assert all(card["nodes"][at]["node"] == node for card in cards) and min(added) > 1
        mean = sum(ms * card["collected"] for ms, card in zip(added, cards, strict=True)) / events
        assert agrees(cell(page.locator(".key"), node), mean), node
        assert [ms for ms in drawn[node] if ms is not None] == pytest.approx(added, abs=0.1), node


def test_a_minute_shows_its_hops_and_names_what_was_lost_and_doubled(
    minute: int, observe: ObserveProcess, console: ConsoleProcess, open_page: Open, artefacts: Path
) -> None:
    page = open_page(f"{console.url}/?tenant=acme")
    page.locator(f"tr[data-pick='{minute}'] button").click()
    details = page.locator(".details")
    details.locator("[data-hop]").first.wait_for()
    card = observe.card(minute)
    expect(details.locator("[data-hop]")).to_have_count(len(card["hops"]))
    for hop in card["hops"]:
        name = f"{hop['node']} · {hop['pipe']}" if hop["pipe"] else hop["node"]
        row = details.locator(f"[data-hop='{name}']")
        assert all(agrees(cell(row, count), hop[count]) for count in HOP_COUNTS), name
        for event in hop["named"]:
            line = details.locator(f"[data-event='{event['id']}']").inner_text()
            assert f"{event['topic']}/{event['partition']}/{event['offset']}" in line
            assert event["hash"] in line and ("lost" if event["times"] > 0 else "doubled") in line
    assert {each.get_attribute("data-event") for each in details.locator("[data-event]").all()} == {
        *LOST,
        TWICE,
    }
    page.screenshot(path=artefacts / "minute.png")
    page.get_by_test_id("close").click()
    details.wait_for(state="hidden")


@pytest.mark.proof
def test_it_can_be_read_at_any_width_and_in_both_themes(
    observe: ObserveProcess, console: ConsoleProcess, open_page: Open, artefacts: Path
) -> None:
    for width, dark in product((1280, 390), (False, True)):
        page = open_page(console.url, width, 844, dark)
        page.locator("tr[data-pick]").first.wait_for()
        page.locator("[data-testid=chart-lags] svg path").first.wait_for(state="attached")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate("document.body.classList.contains('body--dark')") is dark
        theme = "dark" if dark else "light"
        page.screenshot(path=artefacts / f"page-{width}-{theme}.png", full_page=True)


@pytest.mark.proof
def test_the_theme_is_the_readers_choice_and_is_kept(
    observe: ObserveProcess, console: ConsoleProcess, open_page: Open
) -> None:
    page = open_page(console.url)
    button = page.locator("[data-theme-button]")
    button.click()
    assert button.inner_text() == "Theme: light"
    button.click()
    assert button.inner_text() == "Theme: dark"
    page.reload()
    button.wait_for()
    eventually(lambda: page.evaluate("document.body.classList.contains('body--dark')"), 60)
    assert button.inner_text() == "Theme: dark"


@pytest.mark.proof
def test_a_day_and_its_minutes_can_be_picked(
    minute: int, observe: ObserveProcess, console: ConsoleProcess, open_page: Open, artefacts: Path
) -> None:
    page = open_page(f"{console.url}/?tenant=acme")
    page.locator(f"[data-pick='{day_of(minute)}']").click()
    details = page.locator(".details")
    details.locator("dd[data-name=nines]").wait_for()
    day = observe.get(f"/v1/days/{day_of(minute)}?tenant=acme")
    for name in ("minutes", "collected", "total", "delivered", "lost", "doubled"):
        assert agrees(details.locator(f"dd[data-name={name}]").inner_text(), day[name]), name
    assert agrees(details.locator("[data-state=spent]").inner_text(), len(day["spent"]))
    page.screenshot(path=artefacts / "day.png")
    details.locator(".spent-list button").first.click()
    details.locator("[data-event]").first.wait_for()


def test_quiet_windows_are_added_and_removed(
    observe: ObserveProcess, console: ConsoleProcess, open_page: Open
) -> None:
    page = open_page(f"{console.url}/?tenant=acme")
    page.locator("tr[data-pick]").first.wait_for()
    page.get_by_test_id("quiet-reason").fill("moving <b>the warehouse</b>")
    page.get_by_test_id("quiet-add").click()
    line = page.locator("[data-quiet]")
    line.wait_for()
    (window,) = observe.get("/v1/quiet?tenant=acme")
    assert window["reason"] == "moving <b>the warehouse</b>" and window["reason"] in line.inner_text()
    assert window["until_ms"] - window["from_ms"] == 30 * MINUTE_MS and window["tenant"] == "acme"
    line.locator("button").click()
    line.wait_for(state="detached")
    assert observe.get("/v1/quiet?tenant=acme") == []
