"""People who sign in to a console at an issuer, and their actions on its pages."""

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page

from tests.console.documents import Office
from tests.harness.oidc_provider import OidcProvider


@dataclass(frozen=True)
class People(Office):
    """An office with the test's issuer."""

    provider: OidcProvider

    def invitation(self, tenant: str, role: str, label: str = "somebody") -> str:
        """The link of an operator's invitation."""
        asked = {"role": role, "label": label}
        answer = self.api.ask("POST", f"/v1/tenants/{tenant}/invitations", asked)
        assert answer.status == 201, answer.text
        return f"{self.console.url}/invitation#{answer.json['invitation']}"

    def becomes(self, name: str) -> None:
        """Let this person sign in at the issuer from now on."""
        self.provider.person = {"sub": f"u-{name}", "email": f"{name}@example.com"}

    def joined(self, name: str, link: str, **screen: Any) -> Page:
        """A browser in which a person opens an invitation's link, signs in and accepts."""
        self.becomes(name)
        page = self.open_page(link, **screen)
        self.by_issuer(page)
        page.get_by_role("button", name="Accept the invitation").click()
        page.get_by_test_id("sources").or_(page.get_by_text("No sources yet.")).wait_for()
        return page

    @staticmethod
    def by_issuer(page: Page) -> None:
        """Sign in at the issuer and return."""
        page.get_by_test_id("issuer").click()
        page.get_by_role("button", name="Continue as").click()
        page.get_by_role("button", name="Sign out").wait_for()
