"""A console over a real management API, and a person's actions on its pages."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Locator, Page

from tests.console.console_process import ConsoleProcess
from tests.contract.management.api_process import ApiProcess


@dataclass(frozen=True)
class Office:
    """Both processes, and pages signed in to them."""

    console: ConsoleProcess
    api: ApiProcess
    open_page: Callable[..., Page]

    def url(self, *steps: str) -> str:
        """The address of a page of documents."""
        return "/".join((self.console.url, "documents", *steps))

    def signed_in(self, *steps: str, token: str = "", **screen: Any) -> Page:
        """A browser that opens a page, is sent to the sign-in, and arrives at the page."""
        page = self.open_page(self.url(*steps), **screen)
        sign_in(page, token or self.api.operator)
        page.get_by_role("button", name="Sign out").wait_for()
        return page

    def put(self, tenant: str, kind: str, name: str, document: dict[str, Any], **headers: str) -> Any:
        """Write a document as another person."""
        path = f"/v1/tenants/{tenant}/{kind}/{name}"
        answer = self.api.ask("PUT", path, document, headers or {"If-Match": "*"})
        assert answer.status in (200, 201), answer.text
        return answer.json


def sign_in(page: Page, token: str) -> None:
    """Type a token into the form."""
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()


def field(page: Page, name: str) -> Locator:
    """The input of a field, by its path joined with dashes."""
    return page.locator(f"input[data-testid=field-{name}], textarea[data-testid=field-{name}]")


def give_url(page: Page, url: str) -> None:
    """Type a webhook's URL into its field, or into the YAML of options if the API names no connectors."""
    page.get_by_label("Timeout seconds").wait_for()
    own = field(page, "options-url")
    if own.count():
        own.fill(url)
    else:
        field(page, "options").fill(f"url: {url}")
