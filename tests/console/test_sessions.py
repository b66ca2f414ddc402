"""Access to the pages of documents: sessions, other tenants, other sites, hostile contents."""

import base64
import os
import re
import socket
from typing import Any

from playwright.sync_api import expect

from tests.console.documents import Office, sign_in
from tests.contract.management.api_process import START_SECONDS
from tests.harness.service_process import HOST, request
from tests.harness.waiting import eventually

HOSTILE = "<img src=x onerror=\"document.title='stolen'\">{{ constructor.constructor('return 1')() }}"


def test_without_a_session_every_page_asks_to_sign_in_and_a_wrong_token_is_refused(office: Office) -> None:
    for path in ("/documents", "/documents/any/sources", "/documents/any/sources/x/history", "/sides"):
        answer = office.console.request("GET", path)
        assert (answer.status, answer.headers["location"].startswith("/sign-in")) == (303, True)
    page = office.open_page(office.url("any", "sources"))
    sign_in(page, "hifi_wrong")
    expect(page.get_by_role("alert")).to_contain_text("unknown, expired or revoked")


def test_the_cookie_is_not_the_token_and_no_script_can_read_it(office: Office) -> None:
    page = office.signed_in("cookie", "sources")
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["expires"]) == (True, "Lax", -1)
    assert office.api.operator not in cookie["value"] and office.api.operator not in page.content()
    assert page.evaluate("[document.cookie, sessionStorage.length + 0]")[0] == ""
    assert office.api.operator not in str(page.evaluate("[{...localStorage}, {...sessionStorage}]"))
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("alert")).to_contain_text("signed out")
    old = {"Cookie": f"{cookie['name']}={cookie['value']}"}
    assert office.console.request("GET", "/documents/cookie/sources", headers=old).status == 303


def test_a_revoked_token_ends_the_session_at_the_next_click(office: Office) -> None:
    made = office.api.ask("POST", "/v1/tenants/gone/tokens", {"role": "editor", "label": "ann"}).json
    page = office.signed_in("gone", "sources", "-new", token=made["token"])
    listed = office.api.ask("GET", "/v1/tenants/gone/tokens").json["items"]
    assert office.api.ask("DELETE", f"/v1/tenants/gone/tokens/{listed[0]['id']}").status == 204
    page.locator("input[data-testid=field-name]").fill("gone.shop")
    page.get_by_test_id("save").click()
    expect(page.get_by_role("alert")).to_contain_text("session has ended")


def test_a_click_after_the_session_has_ended_elsewhere_makes_no_request_and_asks_to_sign_in(
    office: Office,
) -> None:
    page = office.signed_in("over", "sources", "-new")
    page.locator("input[data-testid=field-name]").fill("over.shop")
    (cookie,) = page.context.cookies()
    origin = {"Cookie": f"{cookie['name']}={cookie['value']}", "Origin": office.console.url}
    assert office.console.request("POST", "/sign-out", headers=origin).status == 303
    page.get_by_test_id("save").click()
    expect(page.get_by_role("alert")).to_contain_text("session has ended")
    assert office.api.ask("GET", "/v1/tenants/over/sources/over.shop").status == 404
    assert "never awaited" not in office.console.log.read_text()


def test_another_tenants_token_sees_nothing(office: Office) -> None:
    office.put("secretive", "sources", "secretive.shop", {})
    page = office.signed_in("secretive", "sources", token=office.api.token("nosy", "owner"))
    for path in ((), ("secretive.shop",), ("secretive.shop", "history")):
        page.goto(office.url("secretive", "sources", *path))
        expect(page.get_by_role("alert")).to_have_text("There is nothing here.")
        expect(page.locator("[data-document]")).to_have_count(0)


def test_hostile_names_labels_and_options_are_shown_as_text(office: Office) -> None:
    token = office.api.token("xss", "editor", label=HOSTILE[:60])
    options = {"url": "https://example.com/", "headers": {"x": HOSTILE}}
    for more in ({}, {"timeout_seconds": 1}):
        office.put("xss", "destinations", "xss.sink", {"options": options, **more})
    office.put("xss", "sources", "xss.shop", {})
    assert office.api.ask("POST", "/v1/tenants/xss/sources/xss.shop/keys", {"label": HOSTILE}).status == 201
    page = office.signed_in("xss", "sources", "xss.shop", token=token)
    expect(page.get_by_test_id("keys")).to_contain_text("<img src=x")
    page.goto(office.url("xss", "destinations", "xss.sink"))
    typed = page.locator("textarea[data-testid^=field-options]").filter(visible=True).first
    expect(typed).to_have_value(_containing(HOSTILE[:12]))
    page.goto(office.url("xss", "destinations", "xss.sink", "history"))
    page.locator(".diff").wait_for()
    page.goto(office.console.url + "/sign-in?reason=%3Cimg%20src=x%3E&next=javascript:alert(1)")
    page.get_by_label("Token").wait_for()
    assert page.locator("input[name=next]").get_attribute("value") == "/documents"
    assert page.locator("img[src=x]").count() == 0 and page.title() != "stolen"


def _containing(text: str) -> Any:
    return re.compile(re.escape(text))


def test_another_sites_page_can_neither_post_nor_open_the_websocket(office: Office) -> None:
    port, own = office.console.port, f"http://{HOST}:{office.console.port}"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    for origin in ("https://evil.example", "null", f"http://{HOST}:1", f"https://evil.example#{own}"):
        for path in ("/sign-in", "/sign-out"):
            answer = request(port, "POST", path, "token=x", form | {"Origin": origin})
            assert answer.status == 403, origin
        assert _upgraded(port, origin) == 403, origin
    assert _upgraded(port, own) == 101
    polled = request(port, "GET", "/_nicegui_ws/socket.io/?EIO=4&transport=polling", None, {"Origin": "null"})
    assert polled.status == 403


def test_a_strangers_name_that_leads_here_reads_no_page_and_opens_no_websocket(office: Office) -> None:
    port = office.console.port
    for path in ("/", "/sign-in", "/metrics"):
        answer = request(port, "GET", path, None, {"Host": f"evil.example:{port}"})
        assert answer.status == 421, path
    assert request(port, "GET", "/", None, {"Host": f"localhost:{port}"}).status == 200
    assert _upgraded(port, f"http://evil.example:{port}", f"evil.example:{port}") == 403


def _upgraded(port: int, origin: str, host: str = "") -> int:
    """The status of a websocket handshake."""
    lines = [
        "GET /_nicegui_ws/socket.io/?EIO=4&transport=websocket HTTP/1.1",
        f"Host: {host or f'{HOST}:{port}'}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
        f"Origin: {origin}",
    ]
    with socket.create_connection((HOST, port), timeout=60) as asked:
        asked.sendall("\r\n".join([*lines, "", ""]).encode())
        return int(asked.recv(4_096).split()[1])


def test_the_pages_cannot_be_framed_nor_kept_by_a_cache(office: Office) -> None:
    headers = office.console.request("GET", "/sign-in").headers
    assert (headers["x-frame-options"], headers["cache-control"]) == ("DENY", "no-store")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_an_api_that_is_away_is_said_and_the_session_stays(office: Office) -> None:
    page = office.signed_in("away", "sources")
    office.api.kill()
    try:
        page.reload()
        expect(page.get_by_role("alert")).to_contain_text("does not answer")
    finally:
        office.api.restart()
    eventually(office.api.ready, START_SECONDS)
    page.reload()
    expect(page.get_by_text("No sources yet.")).to_be_visible()
