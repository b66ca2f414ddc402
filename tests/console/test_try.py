"""An event tried on a pipe in a real Chromium, over a real management API."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.documents import Office, field
from tests.console.test_accessibility import faults
from tests.console.test_sessions import HOSTILE
from tests.contract.management.api_process import destination

MASKS = [{"path": "$.data.email", "action": "redact"}]


def make(office: Office, tenant: str, **fields: Any) -> None:
    """Make a source, a destination and a pipe between them, all with the tenant's name."""
    office.put(tenant, "sources", tenant, {})
    office.put(tenant, "destinations", tenant, destination())
    office.put(tenant, "pipes", tenant, {"source": tenant, "destination": tenant, **fields})


def event(data: Any = None, **attributes: Any) -> str:
    given = {"specversion": "1.0", "id": "e-1", "source": "/shop", "type": "order.placed", **attributes}
    return json.dumps(given | {"data": {"email": "ann@example.com"} if data is None else data})


def try_event(page: Page, text: str) -> None:
    page.locator("textarea[data-testid=try-text]").fill(text)
    page.get_by_test_id("try-act").click()


def no_script_ran(page: Page) -> bool:
    return page.locator("img[src=x]").count() == 0 and page.title() != "stolen"


def test_a_pipe_says_what_it_would_do_with_an_event_as_it_is_typed_without_being_saved(
    office: Office, artefacts: Path
) -> None:
    make(office, "tries", match={"type": ["order.placed"]}, masks=MASKS)
    page = office.signed_in("tries", "pipes", "tries", token=office.api.token("tries", "editor"))
    verdict, result = page.get_by_test_id("verdict"), page.get_by_test_id("try-result")
    try_event(page, event())
    expect(verdict).to_have_text("It matches, and would be sent.")
    expect(page.get_by_test_id("try-event")).to_contain_text('"email":"***"')
    expect(result).to_contain_text("tries: webhook https://example.com/hook")
    page.screenshot(path=artefacts / "try-sent.png", full_page=True)
    assert not faults(page)

    field(page, "match").fill("data: {amount: [{numeric: ['>', 5]}]}")
    try_event(page, event({"amount": 3}))
    expect(verdict).to_contain_text("does not match")
    expect(result).to_contain_text("data · amount")
    expect(result).to_contain_text('{"numeric":[">",5]}')
    page.screenshot(path=artefacts / "try-unmet.png", full_page=True)
    assert not faults(page)
    field(page, "match").fill("")
    field(page, "sample").fill("0")
    try_event(page, event())
    expect(verdict).to_contain_text("is not in the sample")
    field(page, "sample").fill("100")
    field(page, "transform").fill("abs(data.email)")
    try_event(page, event())
    expect(verdict).to_contain_text("would become a dead letter")
    expect(page.get_by_test_id("try-problem")).to_contain_text("(correct the transform")
    assert not faults(page)
    assert office.api.ask("GET", "/v1/tenants/tries/pipes/tries").json["version"] == 1


def test_a_pipe_that_is_not_saved_yet_is_tried_in_its_form_by_keyboard(office: Office) -> None:
    make(office, "draft")
    page = office.signed_in("draft", "pipes", "-new", width=360, height=740)
    page.get_by_test_id("try-act").click()
    expect(page.get_by_test_id("try-result").get_by_role("alert")).to_contain_text("cannot be tried")
    page.get_by_test_id("view-yaml").click()
    typed = page.locator("textarea[data-testid=yaml]")
    typed.fill("source: draft\ndestination: gone\nmatch: {type: [{prefix: order}]}\n")
    page.locator("textarea[data-testid=try-text]").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_test_id("try-act")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("try-problem")).to_contain_text("there is no destination 'gone' (make one")
    typed.fill("source: draft\ndestination: draft\nmatch: {type: [{prefx: order}]}\n")
    page.get_by_test_id("try-act").press("Enter")
    expect(page.get_by_test_id("problems")).to_contain_text("line 3")
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_hostile_events_and_patterns_are_shown_as_text_and_change_nothing_of_the_request(
    office: Office,
) -> None:
    make(office, "evil", match={"type": [{"prefix": HOSTILE}]}, transform=f"{{x: '{HOSTILE[:20]}', y: data}}")
    page = office.signed_in("evil", "pipes", "evil", token=office.api.token("evil", "viewer"))
    result = page.get_by_test_id("try-result")
    try_event(page, event({HOSTILE: HOSTILE}, type=HOSTILE))
    expect(page.get_by_test_id("try-event")).to_contain_text("<img src=x")
    try_event(page, event(type=f"a {HOSTILE}"))
    expect(result).to_contain_text("a <img src=x")
    assert no_script_ran(page)
    said = page.locator("label", has=page.locator("textarea[data-testid=try-text]")).get_by_role("alert")
    for text in ("", "{", event() + ', "pipe": "another"', "[" * 5_000, HOSTILE):
        try_event(page, text)
        expect(said).to_contain_text("is not JSON")
        expect(result).to_have_text("")
    try_event(page, event(specversion=HOSTILE))
    expect(said).to_contain_text("specversion")
    assert no_script_ran(page)


@pytest.mark.proof
def test_a_tried_event_can_be_read_at_any_width_and_in_both_themes(office: Office, artefacts: Path) -> None:
    make(office, "wide", match={"data": {"amount": [{"numeric": [">", 5]}]}}, masks=MASKS)
    for width, dark in product((1280, 360), (False, True)):
        page = office.signed_in("wide", "pipes", "wide", width=width, height=800, dark=dark)
        for name, data in (("unmet", {"amount": 3}), ("sent", {"amount": 7, "email": "ann" * 200})):
            try_event(page, event(data))
            page.get_by_test_id("verdict").wait_for()
            expect(page.get_by_test_id("try-event")).to_have_count(int(name == "sent"))
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert not faults(page)
            theme = "dark" if dark else "light"
            page.screenshot(path=artefacts / f"try-{name}-{width}-{theme}.png", full_page=True)
