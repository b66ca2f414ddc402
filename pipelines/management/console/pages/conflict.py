"""The notice that another writer changed a document while it was being edited."""

from collections.abc import Awaitable, Callable, Mapping

from nicegui import ui

from pipelines.management.console import formatting
from pipelines.management.console.api_client import NEW, if_match
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.pages.frame import button
from pipelines.management.console.panels.base import write
from shared.contracts.api_answers.documents import Version


def show_conflict(
    mine: Version | None,
    theirs: Version | None,
    changed: Markup,
    save: Callable[[Mapping[str, str]], Awaitable[None]],
    take: Callable[[Version], Awaitable[None]],
) -> None:
    """Say what `changed` since `mine` was loaded, and offer to write over it or to take it."""
    with ui.element("section").classes("overtaken").props("role=alert data-testid=conflict"):
        if theirs is None:
            write(_said("It was deleted meanwhile", "What you typed is still here."))
            button("Make it again", lambda: save(NEW), "overwrite", "main")
            return
        number, found = theirs.version, theirs
        write(joined(_said(*_title(mine, theirs)), changed))
        with ui.element("div").classes("acts"):
            button(f"Write mine over version {number}", lambda: save(if_match(number)), "overwrite", "main")
            button(f"Drop mine, load version {number}", lambda: take(found), "take")


def _title(mine: Version | None, theirs: Version) -> tuple[str, str]:
    who = f"{theirs.by} wrote version {theirs.version}, {formatting.named_moment(theirs.at_ms)}."
    if mine is None:
        return (
            "There is already one of this name",
            f"{who} What you typed is still here; this is what is there:",
        )
    return (
        "Somebody changed it meanwhile",
        f"{who} You started from version {mine.version}. What you typed is still here; this changed since:",
    )


def _said(title: str, text: str) -> Markup:
    return joined(tag("h3", title), tag("p", text))
