"""Parts that the pages of documents have in common: head, navigation, dialogs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlencode

from nicegui import ui

from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.pages.visit import KINDS, Visit
from pipelines.management.console.panels.base import write
from pipelines.management.console.plain_page import THEME_BUTTON, brand, failed
from pipelines.management.console.signing_in.sign_in import HOME, SIDES, sign_out_form

MEMBERS: Final = "members"
"""The step of an address that stands where a kind of documents does."""

LETTERS: Final = "dead-letters"
"""The step of an address that stands where a kind of documents does."""


@contextmanager
def page_of(visit: Visit, here: str = "") -> Iterator[None]:
    """The head of a signed-in page, and its main part; `here` is the kind that is open."""
    identity = visit.session.identity
    who = (identity.label or identity.id, identity.role if visit.tenant or identity.operates else None)
    with ui.element("header").classes("top"):
        write(brand(visit.tenant or ("sides" if here == SIDES else "documents")), "brand")
        write(_links(visit, here), "links")
        write(sign_out_form(" · ".join(each for each in who if each)), "account")
        write(THEME_BUTTON)
    with ui.element("div").classes("page"):
        secret = visit.sessions.taken(visit.session.id)
        if secret is not None:
            _own_token(secret)
        yield


def _own_token(token: str) -> None:
    """The personal token that an invitation gave."""
    with ui.element("section").classes("card span-12"):
        write(
            joined(
                tag("h2", "Your token"),
                tag("p", "Copy it now: it is shown only this once. It signs you in from now on."),
                tag("code", token, id="own-token", class_="secret", tabindex=0, data_testid="own-token"),
                tag("button", "Copy", type="button", class_="act plain", data_copy="own-token"),
            ),
            "given",
        )


def title_of(kind: str) -> str:
    """The title of the pages of a kind."""
    return kind.replace("-", " ").capitalize()


def _links(visit: Visit, here: str) -> Markup:
    links = [tag("a", "Meter", href="/")]
    identity = visit.session.identity
    if identity.operates or len(identity.tenants) > 1:
        links.append(tag("a", "Tenants", href=HOME))
    if identity.operates:
        links.append(tag("a", "Sides", href=SIDES, aria_current="page" if here == SIDES else None))
    if visit.tenant:
        links += [
            tag("a", title_of(kind), href=visit.address(kind), aria_current="page" if kind == here else None)
            for kind in (*KINDS, LETTERS, *((MEMBERS,) if identity.manages else ()))
        ]
    return tag("nav", *links, aria_label="Pages")


def trail(*steps: tuple[str, str]) -> Markup:
    """Links to where a page is; the last is the page itself."""
    links: list[Markup] = []
    for text, path in steps[:-1]:
        links += [tag("a", text, href=path), tag("span", "/", aria_hidden="true")]
    return tag("div", *links, tag("h2", steps[-1][0]), class_="trail")


def further(path: str, cursor: str | None, text: str) -> None:
    """A link to the next page of the list at the address `path`, if there is one."""
    if cursor is not None:
        write(tag("a", text, href=f"{path}?{urlencode({'cursor': cursor})}", class_="act plain"), "acts")


def failure(text: str) -> None:
    """A page that cannot be shown."""
    with ui.element("section").classes("card span-12"):
        write(failed(text))


def button(text: str, act: Callable[[], object], name: str, style: str = "plain") -> ui.button:
    """A button of a page."""
    made = ui.button(text, on_click=act, color=None).classes(f"act {style}")
    return made.props(f"unelevated no-caps data-testid={name}")


@contextmanager
def question(title: str, text: str) -> Iterator[ui.dialog]:
    """A window that asks before something is done; what is drawn in the block stands below the text."""
    with (
        ui.dialog().props(f'aria-label="{title}"') as dialog,
        ui.element("div").classes("card ask").props(f'role=alertdialog aria-modal=true aria-label="{title}"'),
    ):
        write(joined(tag("h2", title), tag("p", text)))
        yield dialog


async def agreed(title: str, text: str, act: str) -> bool:
    """Ask before something is done; Escape is no."""
    with question(title, text) as dialog, ui.element("div").classes("acts"):
        button("Cancel", lambda: dialog.submit(False), "cancel").props("autofocus")
        button(act, lambda: dialog.submit(True), "confirm", "danger")
    answer = await dialog
    dialog.delete()
    return bool(answer)


async def show_key(key: str) -> None:
    """Show a write key, once."""
    text = "Copy it now: it is shown only this once. Send it as  Authorization: Bearer KEY."
    await show_secret("The write key", text, key, "new-key")


async def show_secret(title: str, text: str, secret: str, name: str) -> None:
    """Show a secret, once; it is gone from the page when the window is closed. `name` is its element's."""
    with (
        ui.dialog().props(f'persistent aria-label="{title}"') as dialog,
        ui.element("div").classes("card ask"),
    ):
        write(
            joined(
                tag("h2", title),
                tag("p", text),
                tag("code", secret, id=name, class_="secret", tabindex=0, data_testid=name),
            )
        )
        with ui.element("div").classes("acts"):
            write(tag("button", "Copy", type="button", class_="act plain", data_copy=name))
            button("I have kept it", lambda: dialog.submit(True), "kept", "main")
    await dialog
    dialog.delete()
