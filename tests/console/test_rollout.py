"""A pipe's rollout on its page."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.console.documents import Office, field

PIPE = {"source": "up.shop", "destination": "up.sink", "rollout": {"steps": [1, 10, 100]}}


def test_an_editor_leads_a_rollout_and_a_viewer_sees_how_far_it_is(office: Office, artefacts: Path) -> None:
    office.put("up", "sources", "up.shop", {})
    office.put("up", "destinations", "up.sink", {"options": {"url": "https://example.com/hook"}})
    office.put("up", "pipes", "up.plain", {key: PIPE[key] for key in ("source", "destination")})
    office.put("up", "pipes", "up.orders", PIPE)
    page = office.signed_in("up", "pipes", "up.orders", token=office.api.token("up", "editor"))
    panel = page.get_by_test_id("rollout")
    present = panel.locator("tr[aria-current=step]")
    expect(present).to_have_text("11 %now")
    expect(panel).to_contain_text(re.compile(r"since [\d-]+ [\d:]+ UTC"))
    expect(panel.get_by_test_id("rollout-resume")).to_be_disabled()
    panel.get_by_test_id("rollout-pause").click()
    expect(panel).to_contain_text("paused")
    panel.get_by_test_id("rollout-back").click()
    expect(present).to_have_text("00 %now")
    expect(panel.get_by_test_id("rollout-back")).to_be_disabled()
    panel.get_by_test_id("rollout-resume").click()
    expect(present).to_have_text("11 %now")
    page.screenshot(path=artefacts / "rollout.png", full_page=True)
    panel.get_by_test_id("rollout-finish").click()
    page.get_by_test_id("confirm").click()
    expect(present).to_have_text("3100 %now")
    expect(panel).to_contain_text("done")
    expect(field(page, "rollout-every")).to_have_value("5m")

    page.goto(office.url("up", "pipes", "up.plain"))
    expect(page.get_by_test_id("rollout")).to_be_hidden()
    seen = office.signed_in("up", "pipes", "up.orders", token=office.api.token("up", "viewer"))
    expect(seen.get_by_test_id("rollout")).to_contain_text("opened on request")
    expect(seen.get_by_test_id("rollout").get_by_role("button")).to_have_count(0)
