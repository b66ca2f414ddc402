"""No page has a serious accessibility fault that axe-core finds, in either theme."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.console.conftest import Open, StartConsole
from tests.console.documents import Office
from tests.contract.management.api_process import destination
from tests.contract.observe.conftest import Start

GRAVE = ("serious", "critical")


def faults(page: Page, within: str | None = None) -> list[str]:
    """The serious faults of the page, or of a dialog over it, at present: rule, subject, first element.

    A dialog's contrast is left out: axe takes the page behind it for the background of its buttons.
    """
    rules = {"color-contrast": {"enabled": within is None}}
    return [
        f"{each['id']}: {each['help']}: {each['nodes'][0]['html'][:200]}"
        for each in Axe().run(page, context=within, options={"rules": rules}).response["violations"]
        if each["impact"] in GRAVE
    ]


def test_a_control_without_a_name_is_found(office: Office) -> None:
    page = office.open_page(office.url("axe", "sources"))
    page.get_by_label("Token").wait_for()
    page.evaluate("document.body.append(document.createElement('button'))")
    assert [said for said in faults(page) if said.startswith("button-name: ")]


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.proof)])
def test_the_pages_of_documents_have_no_serious_fault(office: Office, dark: bool) -> None:
    office.put("axe", "sources", "axe.shop", {})
    office.put("axe", "destinations", "axe.sink", destination())
    steps = {"steps": [1, 100]}
    office.put(
        "axe", "pipes", "axe.pipe", {"source": "axe.shop", "destination": "axe.sink", "rollout": steps}
    )
    page = office.open_page(office.url("axe", "sources"), dark=dark)
    page.get_by_label("Token").wait_for()
    found = {"sign-in": faults(page)}
    page.close()
    page = office.signed_in(dark=dark)
    for path in (
        (),
        ("axe", "sources"),
        ("axe", "sources", "axe.shop"),
        ("axe", "sources", "axe.shop", "history"),
        ("axe", "destinations", "axe.sink"),
        ("axe", "pipes", "axe.pipe"),
        ("axe", "pipes", "-new"),
        ("axe", "contacts"),
    ):
        page.goto(office.url(*path))
        page.locator(".card").first.wait_for()
        found["/".join(path)] = faults(page)
    assert not {path: said for path, said in found.items() if said}


@pytest.mark.proof
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_of_the_meter_has_no_serious_fault(
    start: Start, start_console: StartConsole, open_page: Open, dark: bool
) -> None:
    console = start_console(start().port)
    page = open_page(console.url, dark=dark)
    page.locator(".card").first.wait_for()
    assert not faults(page)
