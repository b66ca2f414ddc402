"""The pages of documents in a real Chromium, over a real management API and DynamoDB Local."""

import re

from playwright.sync_api import expect

from tests.console.documents import Office, field


def test_a_person_signs_in_makes_a_source_and_sees_its_key_once(office: Office) -> None:
    page = office.signed_in("story", "sources")
    expect(page.get_by_text("No sources yet.")).to_be_visible()
    page.get_by_role("link", name="New source").click()
    field(page, "name").fill("story.shop")
    field(page, "name").press("Enter")
    key = page.get_by_test_id("new-key").inner_text()
    assert re.fullmatch(r"wk_[\w-]{40,}", key)
    page.get_by_test_id("kept").click()
    page.wait_for_url(office.url("story", "sources", "story.shop"))
    expect(page.get_by_test_id("keys")).to_contain_text(f"…{key[-4:]}")
    assert key not in page.content()
    page.get_by_role("link", name="Sources", exact=True).first.click()
    expect(page.locator("[data-document='story.shop']")).to_contain_text("1")
