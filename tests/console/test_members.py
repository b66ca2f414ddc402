"""Sign-in by an issuer, invitations and members, in a real Chromium over a real API and provider."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.documents import Office, sign_in
from tests.console.people import People
from tests.console.test_accessibility import faults
from tests.console.test_sessions import HOSTILE
from tests.contract.management.api_process import START_SECONDS
from tests.harness.waiting import eventually


def role_of(people: People, tenant: str, page: Page, name: str) -> Any:
    """The cell with a person's role in the table of members."""
    page.goto(people.url(tenant, "members"))
    return page.get_by_test_id("members").locator("tr", has_text=name).locator("td").first


def picked(page: Page, name: str, act: str) -> None:
    page.get_by_role("button", name=f"{act} {name}@example.com").click()


def test_an_owner_invites_somebody_changes_the_role_and_removes_it(people: People) -> None:
    owner = people.joined("ann", people.invitation("team", "owner"))
    assert "hifi_invite" not in owner.url and owner.evaluate("sessionStorage['hifi-invitation']") is None
    owner.get_by_role("link", name="Members").click()
    owner.get_by_test_id("invite-label").fill("Bob of sales")
    owner.get_by_test_id("invite").click()
    link = owner.get_by_test_id("new-invitation").inner_text()
    assert link.startswith(f"{people.console.url}/invitation#hifi_invite_")
    owner.get_by_test_id("kept").click()
    expect(owner.get_by_test_id("invitations")).to_contain_text("Bob of sales")
    assert link not in owner.content()

    member = people.joined("bob", link)
    expect(member.get_by_role("link", name="Members")).to_have_count(0)
    expect(member.get_by_role("link", name="New source")).to_have_count(0)
    expect(role_of(people, "team", owner, "bob@")).to_have_text("viewer")
    picked(owner, "bob", "Change the role of")
    owner.locator(".ask").get_by_role("combobox", name="Role").click()
    owner.get_by_role("option", name="editor").click()
    owner.get_by_test_id("confirm").click()
    expect(owner.locator("tr", has_text="bob@").locator("td").first).to_have_text("editor")
    member.goto(people.url())
    member.wait_for_url(people.url("team", "sources"))
    expect(member.get_by_role("link", name="New source")).to_be_visible()

    picked(owner, "ann", "Remove")
    owner.get_by_test_id("confirm").click()
    expect(owner.get_by_text("this is the last owner")).to_be_visible()
    picked(owner, "bob", "Remove")
    owner.get_by_test_id("confirm").click()
    expect(owner.get_by_test_id("members").locator("tbody tr")).to_have_count(1)
    member.reload()
    expect(member.get_by_role("alert")).to_have_text("There is nothing here.")
    used = people.open_page(link)
    people.by_issuer(used)
    used.get_by_role("button", name="Accept the invitation").click()
    expect(used.get_by_role("alert")).to_contain_text("unknown, used, withdrawn or expired")


def test_a_lowered_owner_leaves_tokens_that_the_page_names_and_revokes_if_asked(people: People) -> None:
    owner = people.joined("ann", people.invitation("lowered", "owner"))
    people.joined("bob", people.invitation("lowered", "owner"))
    asked, path = {"role": "owner", "label": "for ever"}, "/v1/tenants/lowered/tokens"
    made = people.api.ask("POST", path, asked, token=people.provider.token()).json
    expect(role_of(people, "lowered", owner, "bob@")).to_have_text("owner")
    _lowered(owner, "editor")
    expect(owner.get_by_text(f"goes on working: token for ever ({made['id']})")).to_be_visible()
    assert people.api.ask("GET", path, token=made["token"]).status == 200
    _lowered(owner, "viewer", revoke=True)
    assert people.api.ask("GET", path, token=made["token"]).status == 401


def _lowered(owner: Page, role: str, *, revoke: bool = False) -> None:
    """Give bob another role."""
    picked(owner, "bob", "Change the role of")
    owner.locator(".ask").get_by_role("combobox", name="Role").click()
    owner.get_by_role("option", name=role).click()
    if revoke:
        owner.get_by_test_id("revoke").click()
    owner.get_by_test_id("confirm").click()
    expect(owner.locator("tr", has_text="bob@").locator("td").first).to_have_text(role)


@pytest.mark.proof
def test_an_operator_makes_a_tenant_and_is_led_to_invite_its_first_owner(people: People) -> None:
    page = people.open_page(people.url())
    sign_in(page, people.api.operator)
    page.get_by_test_id("tenant-name").fill("brandnew")
    page.get_by_test_id("make").click()
    expect(page.get_by_text("No members yet")).to_be_visible()
    assert page.url == people.url("brandnew", "members")
    page.get_by_role("link", name="Tenants").click()
    expect(page.get_by_role("link", name="brandnew")).to_be_visible()


@pytest.mark.proof
def test_who_is_in_several_tenants_chooses_one_and_has_the_role_of_each(people: People) -> None:
    page = people.joined("cleo", people.invitation("first", "owner"))
    page.goto(people.invitation("second", "viewer"))
    page.get_by_role("button", name="Accept the invitation").click()
    page.get_by_role("link", name="Tenants").click()
    expect(page.locator(".names li")).to_have_text(["first · owner", "second · viewer"])
    page.get_by_role("link", name="second", exact=True).click()
    expect(page.get_by_text("No sources yet.")).to_be_visible()
    expect(page.get_by_role("link", name="Members")).to_have_count(0)
    page.goto(people.url("second", "members"))
    expect(page.get_by_role("alert")).to_contain_text("role")


@pytest.mark.proof
def test_a_session_is_renewed_by_the_issuer_and_ends_with_it(people: People) -> None:
    people.provider.seconds = 20  # less than a minute before its end: it is renewed at once
    try:
        page = people.joined("dora", people.invitation("renewing", "owner"))
        before = people.provider.renewed
        page.reload()
        expect(page.get_by_text("No sources yet.")).to_be_visible()
        assert people.provider.renewed > before
        cookies = page.context.cookies()
        assert [(each["name"], each["httpOnly"], each["sameSite"]) for each in cookies] == [
            ("hifi_session", True, "Lax")
        ]
        people.provider.end_sessions()
        page.reload()
        expect(page.get_by_role("alert")).to_contain_text("session has ended")
    finally:
        people.provider.seconds = 300


@pytest.mark.proof
def test_signing_out_forgets_the_session_and_asks_who_it_is_anew(people: People) -> None:
    page = people.joined("emil", people.invitation("leaving", "owner"))
    (cookie,) = page.context.cookies()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("alert")).to_contain_text("signed out")
    old = {"Cookie": f"{cookie['name']}={cookie['value']}"}
    assert people.console.request("GET", "/documents/leaving/sources", headers=old).status == 303
    page.get_by_test_id("issuer").click()
    page.get_by_role("button", name="Continue as").wait_for()
    assert "prompt=login" in page.url


def test_an_answer_that_this_browser_did_not_ask_for_signs_nobody_in(people: People) -> None:
    people.becomes("mallory")
    page = people.open_page(people.url())
    page.get_by_test_id("issuer").click()
    expect(page.get_by_role("button", name="Continue as")).to_be_visible()
    state = page.url.partition("state=")[2].partition("&")[0]
    callback = f"{people.console.url}/sign-in/callback?code=x&state={state}"
    victim = people.open_page(callback)
    expect(victim.get_by_role("alert")).to_contain_text("not begun in this browser")
    page.goto(callback.replace(state, "other"))
    expect(page.get_by_role("alert")).to_contain_text("not begun in this browser")
    page.goto(callback)
    expect(page.get_by_role("alert")).to_contain_text("not begun in this browser")
    assert not any(each["name"] == "hifi_session" for each in page.context.cookies())


@pytest.mark.proof
def test_an_issuer_that_is_away_is_said_and_a_token_still_signs_in(people: People) -> None:
    people.console.kill()  # the console knows the issuer's description for a minute
    people.console.restart()
    eventually(people.console.ready, START_SECONDS)
    people.provider.away = True
    try:
        page = people.open_page(people.url("any", "sources"))
        page.get_by_test_id("issuer").click()
        expect(page.get_by_role("alert")).to_contain_text("sign-in service does not answer")
        sign_in(page, people.api.operator)
        expect(page.get_by_text("No sources yet.")).to_be_visible()
    finally:
        people.provider.away = False


def test_without_an_issuer_an_invitation_gives_a_token_that_is_shown_once(office: Office) -> None:
    asked = {"role": "owner", "label": "Ann"}
    made = office.api.ask("POST", "/v1/tenants/tokenway/invitations", asked).json
    page = office.open_page(f"{office.console.url}/invitation#{made['invitation']}")
    page.get_by_role("button", name="Accept the invitation").click()
    token = page.get_by_test_id("own-token").inner_text()
    assert token.startswith("hifi_") and "invite" not in token
    page.reload()
    expect(page.get_by_text("No sources yet.")).to_be_visible()
    assert token not in page.content()
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, token)
    page.get_by_role("link", name="Members").click()
    expect(page.get_by_test_id("members")).to_contain_text("Ann")


def test_an_invitation_stays_in_its_field_while_the_api_is_away(office: Office) -> None:
    asked = {"role": "viewer", "label": "Ann"}
    made = office.api.ask("POST", "/v1/tenants/patient/invitations", asked).json
    page = office.open_page(f"{office.console.url}/invitation#{made['invitation']}")
    office.api.kill()
    try:
        page.get_by_role("button", name="Accept the invitation").click()
        expect(page.get_by_role("alert")).to_contain_text("does not answer")
        expect(page.get_by_label("Invitation")).to_have_value(made["invitation"])
    finally:
        office.api.restart()
    eventually(office.api.ready, START_SECONDS)
    page.get_by_role("button", name="Accept the invitation").click()
    page.get_by_test_id("own-token").wait_for()
    assert page.evaluate("sessionStorage['hifi-invitation']") is None


def test_the_new_pages_show_hostile_names_as_text_fit_a_phone_and_have_no_serious_fault(
    people: People, artefacts: Path
) -> None:
    people.invitation("hostile", "owner", HOSTILE[:100])
    found = {}
    for width, dark in ((360, True), (1280, False)):
        link = people.invitation("hostile", "owner")
        people.provider.person = {"sub": f"u-{width}", "email": f"{width}{HOSTILE}"}
        page = people.open_page(link, width=width, dark=dark)
        page.get_by_test_id("issuer").wait_for()
        found[f"invitation-{width}"] = _seen(page, artefacts, f"invitation-{width}", width)
        people.by_issuer(page)
        found[f"accept-{width}"] = _seen(page, artefacts, f"accept-{width}", width)
        page.get_by_role("button", name="Accept the invitation").click()
        page.get_by_text("No sources yet.").wait_for()
        page.goto(people.url("hostile", "members"))
        expect(page.get_by_test_id("members")).to_contain_text("<img src=x")
        expect(page.get_by_test_id("invitations")).to_contain_text("<img src=x")
        found[f"members-{width}"] = _seen(page, artefacts, f"members-{width}", width)
        page.get_by_test_id("invite-label").fill("Somebody")
        page.get_by_test_id("invite").press("Enter")
        page.get_by_test_id("new-invitation").wait_for()
        found[f"link-{width}"] = _seen(page, artefacts, f"link-{width}", width, ".q-dialog")
        page.get_by_test_id("kept").press("Enter")
        assert page.locator("img[src=x]").count() == 0 and page.title() != "stolen"
        out = people.open_page(people.url(), width=width, dark=dark)
        out.get_by_test_id("issuer").wait_for()
        found[f"sign-in-{width}"] = _seen(out, artefacts, f"sign-in-{width}", width)
    assert not {name: said for name, said in found.items() if said}


def _seen(page: Page, artefacts: Path, name: str, width: int, within: str | None = None) -> list[str]:
    page.wait_for_function("!document.querySelector('[class*=enter-active]')")  # a dialog fades in
    page.screenshot(path=artefacts / f"{name}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") == width, name
    return faults(page, within)
