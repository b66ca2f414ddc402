"""What is typed stays: during a save, after the session's end, and between form and YAML."""

import re

from playwright.sync_api import Page, expect

from tests.console.documents import Office, field, give_url, sign_in
from tests.contract.management.api_process import destination

LOOK_MS = 6_000
"""Longer than from one look of the page of a pipe at its rollout to the next."""


def signed_out(office: Office, page: Page) -> None:
    """End the page's session as another tab would."""
    (cookie,) = page.context.cookies()
    origin = {"Cookie": f"{cookie['name']}={cookie['value']}", "Origin": office.console.url}
    assert office.console.request("POST", "/sign-out", headers=origin).status == 303


def test_the_page_of_a_pipe_stays_when_the_session_ends_and_comes_back_after_signing_in(
    office: Office,
) -> None:
    office.put("stays", "sources", "stays", {})
    office.put("stays", "destinations", "stays", destination())
    pipe = {"source": "stays", "destination": "stays"}
    office.put("stays", "pipes", "stays.plain", pipe)
    office.put("stays", "pipes", "stays.rolling", pipe | {"rollout": {"steps": [1, 100]}})
    plain, rolling = (office.signed_in("stays", "pipes", f"stays.{name}") for name in ("plain", "rolling"))
    for page in (plain, rolling):
        field(page, "transform").fill("data.typed")
        signed_out(office, page)
    expect(rolling.get_by_test_id("rollout")).to_contain_text("Your session has ended")
    plain.wait_for_timeout(LOOK_MS)
    for page in (plain, rolling):
        expect(field(page, "transform")).to_have_value("data.typed")
    rolling.get_by_test_id("save").click()
    expect(rolling.get_by_role("alert")).to_contain_text("session has ended")
    sign_in(rolling, office.api.operator)
    rolling.wait_for_url(office.url("stays", "pipes", "stays.rolling"))


def test_a_rollout_that_is_saved_here_is_shown_although_there_was_none(office: Office) -> None:
    office.put("begun", "sources", "begun", {})
    office.put("begun", "destinations", "begun", destination())
    office.put("begun", "pipes", "begun", {"source": "begun", "destination": "begun"})
    page = office.signed_in("begun", "pipes", "begun")
    expect(page.get_by_test_id("rollout")).to_be_hidden()
    field(page, "rollout-steps").fill("[1, 100]")
    page.get_by_test_id("save").click()
    expect(page.get_by_test_id("rollout")).to_be_visible()


def test_a_new_document_that_was_shown_as_yaml_can_be_renamed_in_the_form(office: Office) -> None:
    page = office.signed_in("names", "destinations", "-new")
    text = page.locator("textarea[data-testid=yaml]")
    field(page, "name").fill("names.a")
    give_url(page, "https://example.com/hook")
    page.get_by_test_id("view-yaml").click()
    expect(text).to_have_value(re.compile(r"name: names\.a\ntenant: names\n"))
    page.get_by_test_id("view-form").click()
    field(page, "name").fill("names.b")
    page.get_by_test_id("save").click()
    page.wait_for_url(office.url("names", "destinations", "names.b"))
    assert office.api.ask("GET", "/v1/tenants/names/destinations/names.b").status == 200


def test_the_name_that_the_yaml_of_a_new_document_gives_is_its_name_and_another_tenant_is_refused(
    office: Office,
) -> None:
    page = office.signed_in("names", "destinations", "-new")
    text = page.locator("textarea[data-testid=yaml]")
    page.get_by_test_id("view-yaml").click()
    text.fill("name: names.c\ntenant: others\noptions: {url: 'https://example.com/hook'}\n")
    page.get_by_test_id("view-form").click()
    expect(field(page, "name")).to_have_value("names.c")
    page.get_by_test_id("save").click()
    expect(page.get_by_test_id("problems")).to_contain_text("tenant")
    page.get_by_test_id("view-yaml").click()
    text.fill("name: names.c\noptions: {url: 'https://example.com/hook'}\n")
    page.get_by_test_id("view-form").click()
    page.get_by_test_id("save").click()
    page.wait_for_url(office.url("names", "destinations", "names.c"))
