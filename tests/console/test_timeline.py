"""Activities on the side, above the chart of lags, in a real Chromium."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.stability import Stability
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.side_weights import LOCAL
from shared.dynamodb.activity_register import ActivityRegister
from shared.dynamodb.document_table import DocumentTable
from shared.runtime.clock import wall_clock
from tests.console.conftest import Open, StartConsole
from tests.console.test_accessibility import faults
from tests.contract.observe.conftest import Start
from tests.contract.observe.side import Side
from tests.harness.observe_process import ObserveProcess
from tests.harness.waiting import eventually

TABLE = "documents"
HOSTILE = "deploy <b>2.0</b>"
AGO = 20
"""Minutes since the activity began."""


def x_of(page: Page, minute: int) -> float:
    """A minute's horizontal position in the chart of the last hour, pixels from the window's left edge."""
    found = page.get_by_test_id("chart-lags").evaluate(
        """(at, minute) => {
          const chart = getElement(Number(at.id.slice(1))).chart;
          return chart.getDom().getBoundingClientRect().left + chart.convertToPixel({xAxisIndex: 0}, minute);
        }""",
        minute,
    )
    return float(found)


class Acting(NamedTuple):
    """The observe of a side with lags, and a deployer that acts on it."""

    observe: ObserveProcess
    since_ms: int
    end: Callable[[], None]


@pytest.fixture
def acting(topics: str, store_url: str, start: Start) -> Acting:
    DocumentTable(TABLE, store_url).ensure()
    begun = wall_clock() - AGO * MINUTE_MS
    deployer = ActivityRegister(
        TABLE, store_url, side=LOCAL, owner="d", clock=lambda: begun, monotonic=time.monotonic
    )
    held = deployer.begin(
        Action.STEP_FORWARD, HOSTILE, Stability(stable=True), phase="canary", lease_seconds=3_600
    )
    assert isinstance(held, Activity)
    side, now = Side(topics), wall_clock() // MINUTE_MS
    for minute in range(now - 25, now - 1, 3):
        side.whole([f"e{minute}-{number}" for number in range(20)], minute, "p")
    side.read()
    side.audit()
    observe = start(documents_table=TABLE, documents_endpoint=store_url)
    eventually(lambda: observe.get("/v1/timeline")["activities"])
    return Acting(observe, begun, lambda: deployer.end(held))


@pytest.mark.parametrize("width", [1280, pytest.param(360, marks=pytest.mark.proof)])
def test_who_acts_stands_above_the_minutes_of_the_lags(
    acting: Acting, start_console: StartConsole, open_page: Open, artefacts: Path, width: int
) -> None:
    page = open_page(start_console(acting.observe.port).url, width=width, dark=width == 360)
    bar = page.locator("[data-row=deployer] .bar.acting")
    expect(bar).to_have_text("canary")
    expect(page.locator("[data-row=side] .bar.stable").first).to_be_visible()

    page.locator("[data-testid=chart-lags] svg path").first.wait_for(state="attached")  # the chart is drawn

    def aligned() -> bool:
        """Whether chart and rows agree; a minute may begin between their drawings."""
        box, first = bar.bounding_box(), wall_clock() // MINUTE_MS - 59
        left, right = x_of(page, acting.since_ms // MINUTE_MS - first), x_of(page, 59)
        left += (right - x_of(page, 58)) * (acting.since_ms % MINUTE_MS) / MINUTE_MS
        return box is not None and abs(box["x"] - left) < 3 and abs(box["x"] + box["width"] - right) < 3

    eventually(aligned, 60)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("summary").press("Enter")
    row = page.get_by_test_id("timeline-table").locator("tr", has_text="deployer")
    expect(row).to_contain_text(HOSTILE)
    assert not faults(page)
    page.get_by_test_id("lags").screenshot(path=artefacts / f"timeline-{width}.png")
    expect(row.locator("td").nth(2)).to_have_text("now")
    acting.end()
    expect(row.locator("td").nth(2)).not_to_have_text("now")
    expect(row).to_be_visible()  # the table stays open
    assert page.locator("[data-testid=lags] b").count() == 0
