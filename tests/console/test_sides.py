"""The page of both sides, in a real Chromium over a table as a deployer writes it."""

from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest
from msgspec.structs import replace
from playwright.sync_api import Page, expect

from shared.contracts.diamond.activities import Action
from shared.contracts.diamond.stability import Stability
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Finding, Passed, Positions, Release, SideState, Verdict
from shared.dynamodb.activity_register import ActivityRegister
from shared.dynamodb.release_store import ReleaseStore
from shared.runtime.clock import wall_clock
from tests.console.conftest import UNUSED_PORT, Open, StartConsole
from tests.console.documents import Office
from tests.console.test_accessibility import faults
from tests.contract.management.api_process import running_api

HOSTILE = "<b>1.4</b>"
STABLE = Stability(stable=True)
MINUTE = 60_000


@pytest.fixture
def fresh_office(
    dynamodb_local: str, start_console: StartConsole, open_page: Open, tmp_path: Path
) -> Iterator[Office]:
    """A separate office with a table without releases, and without an observe."""
    with running_api(tmp_path, dynamodb_local) as api:
        yield Office(start_console(UNUSED_PORT, api=api.url), api, open_page)


def written(office: Office) -> ReleaseStore:
    """Two sides, one undone release, and one under way, as the deployer writes them.

    The observations have future times, so the deployer is not silent before the page has shown them.
    """
    store, now = ReleaseStore(office.api.table, office.api.endpoint), wall_clock()
    seen = now + 10 * MINUTE
    light = SideState(
        side="blue", at_ms=seen, version="1.3", parked=False, share=90, stable=True, unread=1_200, waiting=3,
        rating=10_000, rating_p95_ms=480,
    )  # fmt: skip
    dark = SideState(
        side="green", at_ms=seen, version=HOSTILE, parked=False, share=10,
        reasons=["alarm burn: <img src=x> is late", "minute 29000000: 5 events late"],
    )  # fmt: skip
    for side in (light, dark):
        store.put_side(side)
    if store.current() is None:
        assert store.put(_undone(now)) is not None
    current = store.current()
    assert current is not None
    assert store.put(replace(_under_way(now), revision=current.revision)) is not None
    return store


def _undone(now: int) -> Release:
    return Release(
        number=1, kind=Kind.DEPLOY, version="1.2", step=Step.UNDONE, since_ms=now - 20 * MINUTE,
        asked_by="ann", asked_ms=now - 50 * MINUTE, target="green", former="blue", former_version="1.3",
        back="5 events are lost", snapshot=Positions(queries={"ingest": {"collected/0": 7}}),
        verdicts=[Verdict(finding=Finding.BAD, words=["5 of 1,000 events are lost"])],
    )  # fmt: skip


def _under_way(now: int) -> Release:
    asked, dark, first = now - 5 * MINUTE, now - 4 * MINUTE, now // MINUTE - 3
    early = Verdict(
        finding=Finding.EARLY, words=["1 of 3 minutes", "400 of 1,000 events"], at_ms=now, first=first,
        last=first + 1,
    )  # fmt: skip
    log = [
        Passed(step=Step.PREFLIGHT, since_ms=asked, until_ms=dark, said="green is dark"),
        Passed(step=Step.CANARY, since_ms=dark, until_ms=now - MINUTE, said="10 %"),
    ]
    return replace(
        _undone(now), number=2, version=HOSTILE, step=Step.WATCH, reached=Step.WATCH, since_ms=now - MINUTE,
        asked_by="<i>bob</i>", asked_ms=asked, back="", said="1 of 3 minutes", waits=["green: not stable"],
        log=log, verdicts=[early],
    )  # fmt: skip


def acting(office: Office) -> None:
    """A deployer acts on green, while a person waits."""
    for owner, action, reason in (
        ("d", Action.STEP_FORWARD, f"deploy {HOSTILE}"),
        ("p", Action.MAINTAIN, "kernel of broker 2"),
    ):
        register = ActivityRegister(
            office.api.table,
            office.api.endpoint,
            side="green",
            owner=owner,
            clock=wall_clock,
            monotonic=monotonic,
        )
        register.begin(action, reason, STABLE, lease_seconds=900)


def row(page: Page, table: str, **data: object) -> list[str]:
    """The cells of a row."""
    chosen = "".join(f"[data-{name}='{value}']" for name, value in data.items())
    return page.locator(f"[data-testid={table}] tr{chosen} > *").all_inner_texts()


def test_an_operator_sees_both_sides_who_acts_and_the_releases_and_follows_them(
    fresh_office: Office, artefacts: Path
) -> None:
    office = fresh_office
    page = office.signed_in()
    page.get_by_role("link", name="Sides").click()
    expect(page.get_by_text("No deployer runs: the side speaks for itself.")).to_be_visible()
    assert row(page, "sides", side="local")[1:5] == ["not known"] * 4
    expect(page.get_by_text("observe does not answer")).to_be_visible()
    expect(page.get_by_text("No release yet")).to_be_visible()

    store = written(office)
    acting(office)
    actors = page.get_by_test_id("actors")
    expect(actors).to_contain_text("kernel of broker 2")  # written last
    expect(page.get_by_text("As the deployer sees them.")).to_be_visible()
    assert row(page, "sides", side="blue")[:7] == [
        "blue", "stable", "90 %", "1.3", "1,200 records", "3 events", "10,000 events/s, p95 480 ms",
    ]  # fmt: skip
    assert row(page, "sides", side="green")[:4] == ["green", "not stable", "10 %", HOSTILE]
    expect(page.get_by_text("alarm burn: <img src=x> is late")).to_be_visible()
    expect(actors).to_contain_text(f"deploy {HOSTILE}")
    assert "waits\tmaintenance\tmaintain\tkernel of broker 2" in actors.inner_text()
    assert row(page, "release-steps", step="canary")[1:3] == ["over", "3 min"]
    present = page.locator("tr[aria-current=step]")
    expect(present).to_contain_text("1 of 3 minutes")
    assert row(page, "release-steps", step="bake")[1] == "to come"
    expect(page.get_by_test_id("verdicts")).to_contain_text("too early to say")
    expect(page.get_by_text("green: not stable")).to_be_visible()
    ended = row(page, "ended", release=1)
    assert (ended[1], ended[6], ended[7]) == ("undone", "30 min", "5 events are lost; watch: bad")
    assert page.locator("td b, td i:not(.dot), .page img").count() == 0
    assert not faults(page)
    page.screenshot(path=artefacts / "sides.png", full_page=True)

    current = store.current()
    assert current is not None
    store.put(replace(current, step=Step.DONE, since_ms=wall_clock(), waits=[]))
    expect(page.get_by_text("ended: done")).to_be_visible()
    expect(page.locator("[data-testid=ended] tr[data-release='2']")).to_contain_text(HOSTILE)


@pytest.mark.parametrize(("width", "dark"), [(360, True), pytest.param(3840, False, marks=pytest.mark.proof)])
def test_the_page_fits_a_phone_and_a_wall_in_either_theme(
    office: Office, artefacts: Path, width: int, dark: bool
) -> None:
    written(office)
    page = office.signed_in(width=width, dark=dark)
    page.goto(f"{office.console.url}/sides")
    page.get_by_test_id("release-steps").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert not faults(page)
    page.screenshot(path=artefacts / f"sides-{width}.png", full_page=True)


def test_others_are_not_shown_the_way_and_are_refused(office: Office) -> None:
    page = office.signed_in("acme", "sources", token=office.api.token("acme", "owner"))
    expect(page.get_by_role("link", name="Sides")).to_have_count(0)
    page.goto(f"{office.console.url}/sides")
    expect(page.get_by_role("alert")).to_have_text("Your role does not allow this.")
