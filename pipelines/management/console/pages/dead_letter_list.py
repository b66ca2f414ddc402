"""The list of a tenant's dead letters: a filter, pages, and the replay of some."""

from nicegui import ui

from pipelines.management.console import formatting
from pipelines.management.console.dead_letter_query import CONDITIONS, LetterQuery
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.pages.frame import LETTERS, button, trail
from pipelines.management.console.pages.replay import replayed
from pipelines.management.console.pages.visit import Visit
from pipelines.management.console.panels.base import pickable, table, write
from shared.contracts.api_answers.dead_letters import Letter, LetterPage

_HINTS = {"reason": "part of it", "since": "2026-01-31T12:00:00Z", "until": "2026-01-31T13:00:00Z"}


class LetterList:
    """The panel."""

    def __init__(self, visit: Visit, query: LetterQuery, page: LetterPage) -> None:
        self._visit, self._page = visit, page
        self._chosen: set[str] = set()
        write(_filter(visit, query))
        if not page.items:
            write(tag("p", _nothing(page), class_="empty"))
        else:
            pickable(self._choose).content = self._table()
        with ui.element("div").classes("acts"):
            if page.items and visit.session.identity.writes:
                self._replay = button("", self._ask, "replay", "main")
                self._name_button()
            if page.next is not None:
                older = visit.address(LETTERS) + query.text(cursor=page.next)
                write(tag("a", "Older", href=older, class_="act plain"))

    def _choose(self, letter: str) -> None:
        self._chosen ^= {letter}
        self._name_button()

    def _name_button(self) -> None:
        count = len(self._chosen)
        shown = f"Replay the {len(self._page.items)} shown …"
        self._replay.text = f"Replay {formatting.counted(count, 'selected letter')} …" if count else shown

    async def _ask(self) -> None:
        letters = [each.letter for each in self._page.items if each.letter in self._chosen]
        if await replayed(self._visit, letters or [each.letter for each in self._page.items]):
            ui.navigate.reload()

    def _table(self) -> Markup:
        may = self._visit.session.identity.writes
        titles = ["Letter", "Died, UTC", "Pipe", "Destination", "Event", "Replayed", "Reason"]
        choice = ["Select"] if may else []
        return table("dead letters", [*choice, *titles], [self._row(each) for each in self._page.items])

    def _row(self, each: Letter) -> Markup:
        choice = tag(
            "input", type="checkbox", data_pick=each.letter, autocomplete="off",
            aria_label=f"Select letter {each.letter}",
        )  # fmt: skip
        address = self._visit.address(LETTERS, *each.letter.split("/"))
        again = formatting.NONE if each.replayed_ms is None else formatting.moment(each.replayed_ms)
        return tag(
            "tr",
            tag("td", choice) if self._visit.session.identity.writes else None,
            tag("th", tag("a", each.letter, href=address), scope="row"),
            tag("td", formatting.moment(each.died_ms)),
            tag("td", each.pipe),
            tag("td", each.destination or formatting.NONE),
            tag("td", each.id or formatting.NONE, class_="long"),
            tag("td", again),
            tag("td", each.reason, class_="long"),
            data_letter=each.letter,
        )


def _filter(visit: Visit, query: LetterQuery) -> Markup:
    """A plain form: the address of a list says all that it shows."""
    fields = [_field(name, query.conditions.get(name, "")) for name in CONDITIONS]
    every = tag(
        "label",
        tag("input", type="checkbox", name="all", value="true", checked="" if query.replayed_too else None),
        "replayed ones, too",
        class_="check",
    )
    show = tag("button", "Show", type="submit", class_="act plain")
    return tag("form", *fields, every, show, method="get", action=visit.address(LETTERS), class_="filter")


def _field(name: str, value: str) -> Markup:
    typed = tag("input", name=name, value=value, placeholder=_HINTS.get(name), maxlength=300)
    return tag("label", tag("span", name.capitalize()), typed)


def _nothing(page: LetterPage) -> str:
    if page.cut:
        return "None among the newest. There are older ones to look through."
    return "No dead letters."


def show_letters(visit: Visit, query: LetterQuery, page: LetterPage) -> None:
    """The page."""
    note = "Events that no further attempt will help. They are kept for 14 days."
    with ui.element("section").classes("card span-12"):
        write(joined(trail(("Dead letters", "")), tag("p", note, class_="note")))
        LetterList(visit, query, page)
