"""Typed text stays: during a save, after the session's end, and between form and YAML."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import UNUSED_PORT, Open
from tests.console.console_process import running_console
from tests.console.documents import Office, field, give_url, sign_in
from tests.console.held_api import HeldApi, held_before
from tests.contract.management.api_process import ApiProcess, destination
from tests.harness.waiting import eventually

LOOK_MS = 6_000
"""Milliseconds; longer than the page of a pipe waits between two looks at its rollout."""


@pytest.fixture
def held(api: ApiProcess) -> Iterator[HeldApi]:
    with held_before(api) as held:
        yield held


@pytest.fixture
def slow_office(held: HeldApi, api: ApiProcess, open_page: Open, tmp_path: Path) -> Iterator[Office]:
    """An office with writes that wait if a test wants it."""
    with running_console(UNUSED_PORT, tmp_path / "console.log", api=held.url) as console:
        yield Office(console, api, open_page)


def signed_out(office: Office, page: Page) -> None:
    """End the page's session as another tab would."""
    (cookie,) = page.context.cookies()
    origin = {"Cookie": f"{cookie['name']}={cookie['value']}", "Origin": office.console.url}
    assert office.console.request("POST", "/sign-out", headers=origin).status == 303


def type_meanwhile(page: Page, name: str, text: str) -> None:
    """Type while a save waits; when this returns the console has read the text."""
    field(page, name).fill(text)
    page.get_by_test_id("view-yaml").click()
    expect(page.locator("textarea[data-testid=yaml]")).to_have_value(re.compile(re.escape(text)))
    page.get_by_test_id("view-form").click()
    expect(field(page, name)).to_have_value(text)


def test_a_double_click_saves_once_and_what_is_typed_meanwhile_stays(
    slow_office: Office, held: HeldApi
) -> None:
    slow_office.put("held", "destinations", "held.sink", destination())
    page = slow_office.signed_in("held", "destinations", "held.sink")
    field(page, "timeout_seconds").fill("7")
    held.hold()
    page.get_by_test_id("save").dblclick()
    eventually(lambda: held.writes)
    type_meanwhile(page, "batch-max_events", "20")
    held.let_go()
    expect(page.get_by_text("Saved as version 2, without what you typed since.")).to_be_visible()
    expect(field(page, "batch-max_events")).to_have_value("20")
    page.get_by_test_id("save").click()
    expect(page.get_by_text("Saved as version 3.")).to_be_visible()
    expect(page.get_by_test_id("conflict")).to_have_count(0)
    stored = slow_office.api.ask("GET", "/v1/tenants/held/destinations/held.sink").json["document"]
    assert (stored["timeout_seconds"], stored["batch"]["max_events"]) == (7.0, 20)
    assert len(held.writes) == 2


def test_what_is_typed_while_a_new_document_is_saved_is_saved_by_the_next_click(
    slow_office: Office, held: HeldApi
) -> None:
    page = slow_office.signed_in("held", "destinations", "-new")
    field(page, "name").fill("held.new")
    give_url(page, "https://example.com/hook")
    held.hold()
    page.get_by_test_id("save").click()
    eventually(lambda: held.writes)
    type_meanwhile(page, "timeout_seconds", "3")
    held.let_go()
    expect(page.get_by_text("Saved as version 1, without what you typed since.")).to_be_visible()
    expect(field(page, "name")).to_be_disabled()
    expect(field(page, "timeout_seconds")).to_have_value("3")
    page.get_by_test_id("save").click()
    page.wait_for_url(slow_office.url("held", "destinations", "held.new"))
    stored = slow_office.api.ask("GET", "/v1/tenants/held/destinations/held.new").json
    assert (stored["version"], stored["document"]["timeout_seconds"]) == (2, 3.0)


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
