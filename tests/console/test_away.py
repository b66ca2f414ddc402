"""The page reports when the meter cannot be trusted; without open pages it costs little."""

import re
import time
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import expect

from shared.contracts.envelope import MINUTE_MS
from shared.contracts.topics import Topic
from shared.runtime.clock import wall_clock
from tests.console.conftest import Open, StartConsole
from tests.console.reading import tile
from tests.contract.observe.conftest import Start
from tests.contract.observe.side import Side
from tests.harness.waiting import eventually

_IDLE_SECONDS = 10.0


@pytest.mark.proof
def test_an_empty_meter_says_how_to_send_an_event(
    topics: str, start: Start, start_console: StartConsole, open_page: Open, artefacts: Path
) -> None:
    page = open_page(start_console(start().port).url)
    hint = page.get_by_test_id("no-events")
    hint.wait_for()
    assert "hifi send" in hint.inner_text()
    page.screenshot(path=artefacts / "empty.png", full_page=True)


def test_a_meter_that_is_behind_says_so_until_it_has_caught_up(
    topics: str, start: Start, start_console: StartConsole, open_page: Open, artefacts: Path
) -> None:
    minute, side = wall_clock() // MINUTE_MS - 2, Side(topics)
    side.whole(["a", "b"], minute, "p")
    side.read()
    side.audit()
    side.each(Topic.EVENTS, ["c"], minute)
    side.flush()  # and audit makes no progress
    observe = start(behind_seconds="5")
    page = open_page(start_console(observe.port).url)
    banner = page.get_by_test_id("banner-behind")
    banner.wait_for(timeout=60_000)
    assert "behind" in banner.inner_text() and observe.get("/v1/now")["behind"]
    page.screenshot(path=artefacts / "behind.png")
    side.audit()
    banner.wait_for(state="detached", timeout=60_000)
    expect(page.locator(".status")).to_contain_text("up to date")


@pytest.mark.proof
def test_the_last_figures_stay_greyed_with_their_age_while_observe_is_away(
    topics: str, start: Start, start_console: StartConsole, open_page: Open, artefacts: Path
) -> None:
    minute, side = wall_clock() // MINUTE_MS - 1, Side(topics)
    side.whole([f"e{number}" for number in range(600)], minute, "p")
    side.read()
    side.audit()
    observe = start()
    page = open_page(start_console(observe.port).url)
    page.locator(f"tr[data-pick='{minute}']").wait_for()
    assert observe.stop() == 0
    banner = page.get_by_test_id("banner-unreachable")
    banner.wait_for()

    def age() -> int:
        said = re.search(r"(\d+) s old", banner.inner_text())
        return int(said[1]) if said else 0

    first = eventually(age, 60, "the figures have an age")
    eventually(lambda: age() > first, 60, "it grows")
    assert page.locator("main.stale").count() == 1
    assert page.locator(f"tr[data-pick='{minute}']").count() == 1 and "events/s" in tile(page, "rate")
    page.screenshot(path=artefacts / "unreachable.png")


@pytest.mark.proof
def test_a_console_without_open_pages_sends_no_requests_and_costs_nothing(
    topics: str, start: Start, start_console: StartConsole, open_page: Open
) -> None:
    console = start_console(start().port)
    page = open_page(console.url)
    page.get_by_test_id("no-events").wait_for()
    assert console.open_pages() == 1
    page.goto(f"{console.url}/healthz")
    eventually(lambda: console.open_pages() == 0, 40)
    process = psutil.Process(console.process.pid)
    before, begun = sum(process.cpu_times()[:2]), time.monotonic()
    time.sleep(_IDLE_SECONDS)  # the CPU time of this interval is measured
    share = (sum(process.cpu_times()[:2]) - before) / (time.monotonic() - begun)
    assert share < 0.005, f"{share:.2%} of a core"
