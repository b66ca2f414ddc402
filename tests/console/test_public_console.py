"""A console reached by TLS: what it shows before a sign-in, to whom, and until when."""

from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import UNUSED_PORT, Open, StartConsole
from tests.console.console_process import ConsoleProcess
from tests.contract.management.api_process import ApiProcess
from tests.harness.waiting import eventually

PUBLIC = "https://console.example.com"
OpenMeter = Callable[[str], Page]


def signed_in(console: ConsoleProcess, token: str) -> dict[str, str]:
    """The headers of a signed-in browser."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = console.request("POST", "/sign-in", urlencode({"token": token}), form)
    cookie = answer.headers["set-cookie"]
    assert "Secure" in cookie
    return {"Cookie": cookie.partition(";")[0]}


def operator(api: ApiProcess) -> tuple[str, str]:
    """A new operator token, and its id."""
    answer = api.ask("POST", "/v1/tokens", {"role": "operator", "label": "guest"})
    assert answer.status == 201, answer.text
    token = str(answer.json["token"])
    return token, str(api.ask("GET", "/v1/whoami", token=token).json["id"])


def revoke(api: ApiProcess, token_id: str) -> None:
    assert api.ask("DELETE", f"/v1/tokens/{token_id}").status == 204


@pytest.fixture
def console(start_console: StartConsole, api: ApiProcess) -> ConsoleProcess:
    """A console that seldom checks open pages' access, without an observe."""
    return start_console(UNUSED_PORT, api=api.url, public_url=PUBLIC, access_seconds="600")


def meter(console: ConsoleProcess, who: dict[str, str], open_page: Open) -> Page:
    """The meter in a connected browser with a session."""
    page = open_page(console.url + "/healthz")
    name, _, value = who["Cookie"].partition("=")
    page.context.add_cookies([{"name": name, "value": value, "url": console.url}])
    page.goto(console.url)
    eventually(lambda: console.open_pages() == 1)
    expect(page.get_by_test_id("quiet-add")).to_be_visible()
    page.wait_for_function("window.socket?.connected")
    return page


def ended(console: ConsoleProcess, page: Page) -> None:
    """Whether the page has led to the form, and watches no more."""
    expect(page.get_by_role("alert")).to_contain_text("session has ended")
    eventually(lambda: console.open_pages() == 0)


def test_the_meter_of_all_tenants_is_for_operators_only(console: ConsoleProcess, api: ApiProcess) -> None:
    for who in ({}, signed_in(console, api.token("acme", "owner"))):
        answer = console.request("GET", "/", headers=who)
        assert (answer.status, answer.headers["location"]) == (303, "/documents")
    assert console.request("GET", "/", headers=signed_in(console, api.operator)).status == 200


def test_a_revoked_token_opens_the_meter_no_more(console: ConsoleProcess, api: ApiProcess) -> None:
    token, token_id = operator(api)
    who = signed_in(console, token)
    assert console.request("GET", "/", headers=who).status == 200
    revoke(api, token_id)
    assert console.request("GET", "/", headers=who).status == 303


def test_signing_out_ends_the_meter_in_every_tab(
    console: ConsoleProcess, api: ApiProcess, open_page: Open
) -> None:
    who = signed_in(console, api.operator)
    page = meter(console, who, open_page)
    assert console.request("POST", "/sign-out", headers=who).status == 303
    ended(console, page)


def test_a_click_after_the_token_was_revoked_changes_nothing_and_ends_the_page(
    console: ConsoleProcess, api: ApiProcess, open_page: Open
) -> None:
    token, token_id = operator(api)
    page = meter(console, signed_in(console, token), open_page)
    page.get_by_test_id("quiet-reason").fill("hide it")
    revoke(api, token_id)
    page.get_by_test_id("quiet-add").click()
    ended(console, page)


def test_an_open_meter_that_is_not_touched_ends_soon_after_its_token(
    start_console: StartConsole, api: ApiProcess, open_page: Open
) -> None:
    console = start_console(UNUSED_PORT, api=api.url, public_url=PUBLIC, access_seconds="0.5")
    token, token_id = operator(api)
    page = meter(console, signed_in(console, token), open_page)
    revoke(api, token_id)
    ended(console, page)
