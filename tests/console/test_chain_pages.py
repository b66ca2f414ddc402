"""Dead letters and live events in a real Chromium, over a real management API and real brokers."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from shared.contracts import headers as h
from tests.console.conftest import UNUSED_PORT
from tests.console.console_process import ConsoleProcess
from tests.console.documents import Office
from tests.console.test_accessibility import faults
from tests.contract.conftest import side_api
from tests.contract.management.api_process import ApiProcess
from tests.contract.management.side_records import make_pipes, put_event, put_letters
from tests.harness.topics import Topics
from tests.harness.waiting import eventually

__all__ = ["side_api"]

HOSTILE = "<img src=x onerror=\"document.title='stolen'\">"
MASKS = [{"path": "$.data.email", "action": "redact"}]


@pytest.fixture(scope="module")
def console(side_api: ApiProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    log = tmp_path_factory.mktemp("console") / "console.log"
    process = ConsoleProcess(f"http://127.0.0.1:{UNUSED_PORT}", log, api=side_api.url)
    eventually(process.ready)
    yield process
    assert process.stop() == 0


@pytest.fixture
def office(side_api: ApiProcess, console: ConsoleProcess, open_page: Callable[..., Page]) -> Office:
    return Office(console, side_api, open_page)


@pytest.fixture
def side(topics: str) -> Topics:
    return Topics(topics)


def nobody_follows(office: Office) -> None:
    eventually(lambda: "hifi_api_open_tails 0.0" in office.api.request("GET", "/metrics").text)


def test_letters_are_filtered_read_selected_and_replayed(
    office: Office, side: Topics, artefacts: Path
) -> None:
    make_pipes(office.api, "post", "post.p", "post.q", masks=MASKS)
    put_letters(side, "post", "post.p", range(3), **{h.REASON: f"refused: {HOSTILE}"})
    put_letters(side, "post", "post.q", range(3, 5))
    page = office.signed_in("post", "dead-letters", token=office.api.token("post", "editor"))
    rows = page.locator("[data-letter]")
    expect(rows).to_have_count(5)
    page.get_by_label("Pipe").fill("post.p")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text(HOSTILE)
    page.screenshot(path=artefacts / "dead-letters.png", full_page=True)
    assert not faults(page)

    rows.first.get_by_role("link").click()
    event = page.get_by_test_id("event")
    expect(event).to_contain_text('"email":"***"')
    expect(event).to_contain_text('"big":12345678901234567890.10')
    page.screenshot(path=artefacts / "dead-letter.png", full_page=True)
    assert not faults(page)
    page.go_back()
    for row in (0, 2):
        rows.nth(row).get_by_role("checkbox").check()
    expect(page.get_by_test_id("replay")).to_have_text("Replay 2 selected letters …")
    page.get_by_test_id("replay").click()
    expect(page.get_by_role("alertdialog")).to_contain_text("Replay 2 dead letters?")
    page.get_by_test_id("confirm").click()
    expect(rows).to_have_count(1)
    page.get_by_label("replayed ones, too").check()
    page.get_by_role("button", name="Show", exact=True).click()
    expect(rows).to_have_count(3)
    assert page.locator("img[src=x]").count() == 0 and page.title() != "stolen"


def test_a_viewer_reads_letters_and_cannot_replay(office: Office, side: Topics) -> None:
    make_pipes(office.api, "quiet", "quiet.p")
    put_letters(side, "quiet", "quiet.p", range(1))
    page = office.signed_in("quiet", "dead-letters", token=office.api.token("quiet", "viewer"))
    letter = page.locator("[data-letter]")
    expect(letter).to_have_count(1)
    assert page.get_by_test_id("replay").count() == letter.get_by_role("checkbox").count() == 0
    letter.get_by_role("link").click()
    page.get_by_test_id("event").wait_for()
    assert page.get_by_test_id("replay").count() == 0


def test_live_events_appear_as_text_stop_and_are_cleared(
    office: Office, side: Topics, artefacts: Path
) -> None:
    make_pipes(office.api, "live", "live.p", masks=MASKS)
    page = office.signed_in("live", "pipes", "live.p", token=office.api.token("live", "viewer"))
    page.get_by_role("link", name="Live events").click()
    status, events = page.get_by_test_id("live-status"), page.locator(".live-event")
    expect(status).to_contain_text("Following")
    for number in range(2):
        data = {"email": "ann@example.com", "text": HOSTILE}
        put_event(side, "live", "live.p", number, data, ce_type=HOSTILE)
    side.flush()
    expect(events).to_have_count(2)
    expect(events.first.locator(".live-head")).to_contain_text(re.compile(r"\d\d:\d\d:\d\d UTC"))
    expect(events.first).to_contain_text('"***"')
    expect(events.first).to_contain_text("<img src=x")
    page.screenshot(path=artefacts / "live-events.png", full_page=True)
    assert not faults(page)
    page.get_by_test_id("switch").click()
    expect(status).to_contain_text("Stopped")
    nobody_follows(office)
    page.get_by_test_id("clear").click()
    expect(events).to_have_count(0)
    page.get_by_test_id("switch").click()
    expect(status).to_contain_text("Following")
    put_event(side, "live", "live.p", 7, ce_type="again")
    side.flush()
    expect(events).to_have_count(1)
    assert page.locator("img[src=x]").count() == 0 and page.title() != "stolen"


@pytest.mark.proof  # the page is given ten seconds to come back
def test_nobody_follows_a_pipe_once_its_page_is_left(office: Office, side: Topics) -> None:
    make_pipes(office.api, "left", "left.p")
    page = office.signed_in("left", "pipes", "left.p", "live")
    expect(page.get_by_test_id("live-status")).to_contain_text("Following")
    page.goto(office.url("left", "pipes"))
    nobody_follows(office)


def test_a_revoked_token_ends_live_events_at_the_sign_in_form(office: Office, side: Topics) -> None:
    make_pipes(office.api, "ends", "ends.p")
    made = office.api.ask("POST", "/v1/tenants/ends/tokens", {"role": "viewer", "label": "x"}).json
    page = office.signed_in("ends", "pipes", "ends.p", "live", token=made["token"])
    expect(page.get_by_test_id("live-status")).to_contain_text("Following")
    assert office.api.ask("DELETE", f"/v1/tenants/ends/tokens/{made['id']}").status == 204
    expect(page.get_by_role("alert")).to_contain_text("session has ended")
