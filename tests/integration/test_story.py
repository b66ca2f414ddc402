"""A customer's way from the first sign-in to a repaired delivery, in a real browser on a whole side."""

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import artefacts, chromium, open_page, other_origins
from tests.console.documents import field, sign_in
from tests.harness.live_side import LiveSide
from tests.harness.scripted_server import Loop, Server, reply
from tests.harness.waiting import eventually

__all__ = ["artefacts", "chromium", "open_page", "other_origins"]

IN_FORCE_SECONDS = 40
ALARM_SECONDS = 120
"""Seconds until the meter counts the dead letter and observe sees it, on a busy machine."""


@pytest.fixture
def server() -> Iterator[Server]:
    """The customer's endpoint, at /old."""
    loop = Loop()
    found = Server(loop)
    found.answer("/old", reply(200))
    yield found
    found.close()
    loop.close()


@dataclass
class Story:
    """One customer's browser, with a screenshot of each step."""

    page: Page
    console: str
    tenant: str
    folder: Path
    steps: int = 0

    def go(self, *steps: str) -> None:
        self.page.goto("/".join((self.console, "documents", self.tenant, *steps)))

    def picture(self, name: str) -> None:
        self.steps += 1
        self.page.screenshot(path=self.folder / f"story-{self.steps:02d}-{name}.png", full_page=True)

    def made(self, kind: str, fill: Callable[[], None]) -> None:
        """Fill the form of a document with the tenant's name, and save it."""
        self.page.get_by_role("link", name=f"{kind.capitalize()}s", exact=True).first.click()
        self.page.get_by_role("link", name=f"New {kind}").click()
        field(self.page, "name").fill(self.tenant)
        fill()
        self.page.get_by_test_id("save").click()

    def in_force(self, kind: str) -> None:
        """Wait until the page of a document shows that it is in force."""

        def said() -> bool:
            self.go(kind, self.tenant)
            return "in force" in self.page.locator(".note").first.inner_text()

        eventually(said, IN_FORCE_SECONDS, f"the page says that {kind} are in force", every=1.0)


def send(live: LiveSide, key: str, number: int) -> str:
    """Send an event with curl, as the README does; returns its id."""
    event = {"order": number, "user": {"email": "ann@example.com"}}
    body = {
        "specversion": "1.0",
        "id": f"o-{number}",
        "source": "/shop",
        "type": "order.placed",
        "data": event,
    }
    headers = (f"Authorization: Bearer {key}", "Content-Type: application/cloudevents+json")
    done = subprocess.run(
        [
            *("curl", "-sS", "-i", f"{live.url}/v1/events", "-d", json.dumps(body)),
            *(part for header in headers for part in ("-H", header)),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.startswith("HTTP/1.1 202"), done.stdout
    return f"o-{number}"


def makes_a_pipe(story: Story, url: str) -> str:
    """Make a source, a destination and a pipe; returns the write key."""
    page, name = story.page, story.tenant
    story.made("source", lambda: None)
    key = page.get_by_test_id("new-key").inner_text()
    story.picture("key")
    page.get_by_test_id("kept").click()
    page.wait_for_url(f"**/sources/{name}")
    story.made("destination", lambda: field(page, "options-url").fill(url))
    page.wait_for_url(f"**/destinations/{name}")
    story.picture("destination")
    story.made("pipe", lambda: fills_the_pipe(story))
    page.wait_for_url(f"**/pipes/{name}")
    for kind in ("pipes", "sources"):
        story.in_force(kind)
        story.picture(f"{kind}-in-force")
    return key


def fills_the_pipe(story: Story) -> None:
    """Type a pattern and a mask, and try them before saving."""
    page = story.page
    for label in ("Source", "Destination"):
        page.get_by_label(label).click()
        page.get_by_role("option", name=story.tenant).click()
        expect(page.get_by_role("option")).to_have_count(0)  # the closing list has the same name
    field(page, "match").fill("type: [order.placed]")
    field(page, "masks").fill("- {path: $.data.user.email, action: redact}")
    page.get_by_test_id("try-act").click()
    expect(page.get_by_test_id("verdict")).to_have_text("It matches, and would be sent.")
    story.picture("tried")


def sees_an_event_arrive(story: Story, live: LiveSide, server: Server, key: str) -> None:
    story.go("pipes", story.tenant, "live")
    expect(story.page.get_by_test_id("live-status")).to_contain_text("Following")
    sent = send(live, key, 1)
    eventually(lambda: server.bodies, 60, "the event arrives")
    (arrived,) = json.loads(server.bodies[0])
    assert (arrived["id"], arrived["data"]) == (sent, {"order": 1, "user": {"email": "***"}})
    shown = story.page.locator(".live-event")
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text(sent)
    expect(shown).to_contain_text('"email":"***"')
    story.picture("live-events")


def sees_why_another_fails(story: Story, live: LiveSide, server: Server, key: str) -> str:
    """Find out why another event fails: the endpoint has moved; returns the refused event's id."""
    server.answer("/old", reply(404))
    sent = send(live, key, 2)
    eventually(lambda: len(server.bodies) == 2, 60, "the event is refused")
    story.page.goto(f"{live.side.console_url}/?tenant={story.tenant}")
    alarm = story.page.get_by_test_id("open-alarms")
    expect(alarm).to_contain_text("the endpoint has moved or is gone", timeout=ALARM_SECONDS * 1_000)
    expect(alarm).to_contain_text("correct the URL, or restore the endpoint")
    story.picture("cause")
    return sent


def repairs_it_and_replays(story: Story, server: Server, url: str, event_id: str) -> None:
    page = story.page
    story.go("destinations", story.tenant)
    field(page, "options-url").fill(url)
    page.get_by_test_id("save").click()
    expect(page.get_by_text("Saved as version 2.")).to_be_visible()
    story.in_force("destinations")
    story.picture("repaired")
    page.get_by_role("link", name="Dead letters").click()
    letter = page.locator("[data-letter]")
    expect(letter).to_have_count(1)
    expect(letter).to_contain_text("the destination answered 404")
    story.picture("dead-letters")
    letter.get_by_role("link").click()
    expect(page.get_by_test_id("event")).to_contain_text(event_id)
    page.get_by_test_id("replay").click()
    page.get_by_test_id("confirm").click()
    eventually(lambda: len(server.bodies) == 3, 60, "the dead letter is sent again")
    assert json.loads(server.bodies[2])[0]["id"] == event_id
    assert server.heads[2].startswith(b"POST /new ")
    story.picture("replayed")


@pytest.mark.proof
def test_a_customer_makes_a_pipe_sees_events_arrive_repairs_a_failure_and_replays_what_died(
    live: LiveSide, server: Server, open_page: Callable[..., Page], artefacts: Path
) -> None:
    name, url = f"story-{uuid4().hex[:6]}", f"http://127.0.0.1:{server.port}"
    page = open_page(f"{live.side.console_url}/sign-in")
    story = Story(page, live.side.console_url, name, artefacts)
    story.picture("sign-in")
    sign_in(page, live.side.token_file.read_text().strip())
    page.get_by_test_id("tenant-name").fill(name)
    page.get_by_test_id("open").click()
    expect(page.get_by_text("No sources yet.")).to_be_visible()
    story.picture("empty")
    key = makes_a_pipe(story, f"{url}/old")
    sees_an_event_arrive(story, live, server, key)
    refused = sees_why_another_fails(story, live, server, key)
    server.answer("/new", reply(200))
    repairs_it_and_replays(story, server, f"{url}/new", refused)
