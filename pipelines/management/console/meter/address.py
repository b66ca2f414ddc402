"""The address of the meter of all tenants."""

from collections.abc import Callable
from typing import Final

from fastapi import Request, Response
from nicegui import Client, ui

from pipelines.management.console.meter.access import Access, AccessEndedError, AnyonesAccess, OperatorAccess
from pipelines.management.console.meter.page import HOURS, PageSettings, shown
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.pages.visit import Desk
from pipelines.management.console.plain_page import failure_page
from pipelines.management.console.poller import Pollers, View
from pipelines.management.console.signing_in.page_guard import instead
from pipelines.management.console.signing_in.sign_in import HOME, redirect
from shared.contracts.scorecard import ALL_TENANTS
from shared.oidc.errors import ProviderAwayError

_SECONDS: Final = 30.0


def add_meter_page(
    pollers: Pollers, settings: PageSettings, add_head: Callable[[], None], operators: Desk | None
) -> None:
    """Register the page.

    Args:
        pollers: of observe.
        settings: of every page.
        add_head: adds the console's style sheet to a page.
        operators: who is signed in, of whom operators alone may see the page; None: anyone may.
    """

    @ui.page("/", title="hifi", response_timeout=_SECONDS)
    async def page(
        request: Request, client: Client, tenant: str = ALL_TENANTS, hours: int = 1
    ) -> Response | None:
        try:
            access: Access = AnyonesAccess() if operators is None else await _operators(request, operators)
        except AccessEndedError:
            return instead(redirect(HOME))
        except UnreachableError as error:
            return instead(failure_page(f"{error}."))
        add_head()
        view = View(tenant or ALL_TENANTS, hours if hours in HOURS else 1)
        shown(pollers, client, view, settings, access)
        return None


async def _operators(request: Request, desk: Desk) -> Access:
    try:
        visit = await desk.visit(request, "")
    except ProviderAwayError as error:
        raise UnreachableError(f"the sign-in service does not answer: {error}; try again") from error
    if visit is None:
        raise AccessEndedError("no session")
    access = OperatorAccess(visit)
    await access.confirm()
    return access
