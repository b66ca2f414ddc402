"""The list of a tenant's documents of one kind, and the choice of a tenant."""

from collections.abc import Mapping
from typing import Final

from nicegui import ui

from pipelines.management.console import formatting
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.pages.frame import MEMBERS, button, further, trail
from pipelines.management.console.pages.visit import KINDS, Visit
from pipelines.management.console.panels.base import badge, table, write
from pipelines.management.console.signing_in.sign_in import HOME
from shared.contracts.api_answers.documents import NewestSummary, TenantEntry
from shared.contracts.api_answers.pages import Page
from shared.contracts.document_status import DocumentStatus

NEW: Final = "-new"
"""The last step of the address of a new document: no document can have this name."""

_DOTS: Final = {"in force": "kept", "held": "far"}
_SAYS: Final = {
    "sources": "Where events come from. Each has write keys.",
    "destinations": "Where events go.",
    "pipes": "Which events of a source go to which destination.",
    "contacts": "Who is told of failures that only you can repair.",
}


def status_of(sides: Mapping[str, DocumentStatus]) -> Markup:
    """The status of a document on each side."""
    words = [
        tag(
            "span", badge(f"{side}: {each.state}", _DOTS.get(each.state, "missed")), title=each.reason or None
        )
        for side, each in sorted(sides.items())
    ]
    return joined(*words)


def show_listing(visit: Visit, kind: str, page: Page[NewestSummary], cursor: str) -> None:
    """The page; without a cursor it is the first."""
    with ui.element("section").classes("card span-12"):
        with ui.element("div").classes("row title"):
            write(joined(trail((kind.title(), "")), tag("p", _SAYS[kind], class_="note")))
            if visit.session.identity.writes:
                write(tag("a", f"New {KINDS[kind]}", href=visit.address(kind, NEW), class_="act main"))
        write(_table(visit, kind, page.items) if page.items else _empty(kind, cursor))
        further(visit.address(kind), page.next, "More")


def _empty(kind: str, cursor: str) -> Markup:
    return tag("p", f"No more {kind}." if cursor else f"No {kind} yet.", class_="empty")


def _table(visit: Visit, kind: str, found: list[NewestSummary]) -> Markup:
    titles = ["Name", "Version", "Changed, UTC", "By", "Status"]
    return table(kind, titles, [_row(visit, kind, each) for each in found])


def _row(visit: Visit, kind: str, each: NewestSummary) -> Markup:
    return tag(
        "tr",
        tag("th", tag("a", each.name, href=visit.address(kind, each.name)), scope="row"),
        tag("td", str(each.version)),
        tag("td", formatting.moment(each.at_ms)),
        tag("td", each.by),
        tag("td", status_of(each.status)),
        data_document=each.name,
    )


def show_own_tenants(visit: Visit) -> None:
    """The page on which a person chooses one of its tenants, with the role that it has in each."""
    identity = visit.session.identity
    with ui.element("section").classes("card span-12"):
        write(tag("h2", "Your tenants"))
        if not identity.tenants:
            who = f"You are signed in as {identity.label or identity.id}, and are a member of no tenant yet. "
            write(
                tag(
                    "p",
                    who,
                    "Open the link of an invitation; an owner of the tenant sends it.",
                    class_="note",
                )
            )
        items = (
            tag("li", tag("a", each.tenant, href=f"{HOME}/{each.tenant}"), f" · {each.role}")
            for each in identity.tenants
        )
        write(tag("ul", *items, class_="names"))


def show_tenants(visit: Visit, known: Page[TenantEntry]) -> None:
    """The page on which an operator chooses a tenant, or makes one and invites its first owner."""

    async def make() -> None:
        name = _named(typed)
        if name is not None and await visit.change(visit.account.make_tenant(name)):
            ui.navigate.to(f"{HOME}/{name}/{MEMBERS}")

    with ui.element("section").classes("card span-12"):
        write(
            joined(tag("h2", "Tenants"), tag("p", "Choose the tenant whose documents to see.", class_="note"))
        )
        with ui.element("form").classes("form") as form:
            typed = ui.input("Tenant").props("outlined dense autofocus data-testid=tenant-name")
            button("Open", lambda: None, "open", "main").props("type=submit")
            button("Make it", make, "make").props("type=button")
        form.on("submit.prevent", lambda: _go(typed))
        names = [each.tenant for each in known.items]
        if names:
            items = (tag("li", tag("a", each, href=f"{HOME}/{each}")) for each in names)
            write(tag("ul", *items, class_="names"))
        further(HOME, known.next, "More")


def _go(typed: ui.input) -> None:
    name = _named(typed)
    if name is not None:
        ui.navigate.to(f"{HOME}/{name}")


def _named(typed: ui.input) -> str | None:
    """The tenant's name that was typed; None if that cannot be one, which the page then says."""
    name = str(typed.value or "").strip()
    if name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        return name
    ui.notify("Write the tenant's name: lower-case letters, digits, dots, dashes.", type="warning")
    return None
