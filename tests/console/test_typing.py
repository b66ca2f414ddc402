"""What is typed stays: during a save, after the session's end, and between form and YAML."""

from playwright.sync_api import Page, expect

from tests.console.documents import Office, field, sign_in
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
