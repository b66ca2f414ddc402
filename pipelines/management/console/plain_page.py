"""Pages of plain HTML: loading one, signed in or not, keeps nothing in this process."""

from http import HTTPStatus
from typing import Final

from starlette.responses import HTMLResponse

from pipelines.management.console.html import Markup, joined, tag

FILES: Final = ("/static/style.css", "/static/page.js")
THEME_BUTTON: Final = tag("button", "Theme: auto", type="button", class_="theme", data_theme_button="1")
_META: Final = Markup(
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="referrer" content="same-origin">'
)


def head_files() -> Markup:
    """The style sheet and the script of all pages."""
    style, script = FILES
    return Markup(f'<link rel="stylesheet" href="{style}"><script src="{script}"></script>')


def brand(note: str) -> Markup:
    """The name, and what of it this is."""
    return joined(tag("h1", "hifi"), tag("span", note, class_="quiet"))


def failed(text: str) -> Markup:
    """The notice in place of a page that cannot be shown."""
    return joined(tag("h2", "This cannot be shown"), tag("p", text, role="alert"))


def plain_page(title: str, *parts: Markup, status: int = HTTPStatus.OK) -> HTMLResponse:
    """A page without a session in its head."""
    head = tag(
        "header",
        tag("div", brand("documents"), class_="brand"),
        tag("div", tag("a", "Meter", href="/"), class_="links"),
        THEME_BUTTON,
        class_="top",
    )
    body = tag("body", head, tag("div", *parts, class_="page"), class_="plain")
    icon = Markup('<link rel="icon" href="/static/favicon.svg">')
    page = tag("html", tag("head", _META, tag("title", title), icon, head_files()), body, lang="en-GB")
    return HTMLResponse("<!DOCTYPE html>" + page, status)


def failure_page(text: str, status: int = HTTPStatus.OK) -> HTMLResponse:
    """A page that cannot be shown."""
    return plain_page("hifi", tag("section", failed(text), class_="card span-12"), status=status)
