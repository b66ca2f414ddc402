"""Watched fields on the page, in a real Chromium."""

from pathlib import Path

from tests.console.conftest import Open, StartConsole
from tests.console.reading import cell
from tests.console.test_accessibility import faults
from tests.contract.observe.conftest import Start
from tests.contract.observe.minutes import recent
from tests.contract.observe.watched import DAY, QUICK, watching
from tests.harness.waiting import eventually

HOSTILE = "<b>AT</b>"


def test_a_field_that_differs_is_shown_with_its_values_of_now_and_before(
    topics: str, start: Start, start_console: StartConsole, open_page: Open, artefacts: Path
) -> None:
    minute = recent()
    with watching(topics) as watched:
        watched.put(minute - DAY, DE=500, US=300, **{HOSTILE: 200})
        watched.put(minute, missing=50, DE=900, US=40, **{HOSTILE: 10})
        observe = start(**QUICK)
        eventually(lambda: observe.get("/v1/skew?tenant=acme"))
        page = open_page(f"{start_console(observe.port).url}/?tenant=acme")
        row = page.locator("tr[data-field='watching data.country']")
        row.wait_for()
        assert (cell(row, "state"), cell(row, "events"), cell(row, "missing")) == ("differs", "1,000", "5 %")
        assert "'DE' 94.74 %, before 50.00 %" in cell(row, "changes")
        assert row.locator("svg rect").count() == 6
        assert HOSTILE in (row.locator("svg").get_attribute("aria-label") or "")
        assert page.locator("td b").count() == 0
        assert not faults(page)
        page.locator("[data-testid=watched-fields]").screenshot(path=artefacts / "watched-fields.png")
