"""The history of a document: its versions, the difference of two, and going back to one."""

from functools import partial

from nicegui import ui

from pipelines.management.console import formatting
from pipelines.management.console.api_client import NEW, Document, ProblemError, if_match
from pipelines.management.console.forms.yaml_text import difference
from pipelines.management.console.html import Markup, tag
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.pages.frame import agreed
from pipelines.management.console.pages.visit import Visit, refusal
from pipelines.management.console.panels.base import pickable, table, write
from shared.contracts.api_answers.documents import VersionSummary


class History:
    """The panel; `versions` are those of a page, newest first, `newest` is the newest of all."""

    def __init__(
        self, visit: Visit, kind: str, name: str, versions: list[VersionSummary], newest: VersionSummary
    ) -> None:
        self._visit, self._kind, self._name = visit, kind, name
        self._versions = {each.version: each for each in versions}
        self._newest = newest
        if not versions:
            write(tag("p", "No older versions.", class_="empty"))
            return
        pickable(self._revert).content = self._table(versions)
        numbers = list(dict.fromkeys([newest.version, *self._versions]))
        if len(numbers) > 1:
            self._draw_difference(numbers, list(self._versions))

    def _draw_difference(self, numbers: list[int], shown: list[int]) -> None:
        write(tag("h3", "What changed"))
        names = {each: f"version {each}" for each in numbers}
        after, before = (shown if len(shown) > 1 else numbers)[:2]
        with ui.element("div").classes("form"):
            self._from = ui.select(names, value=before, label="From", on_change=self._compare)
            self._to = ui.select(names, value=after, label="To", on_change=self._compare)
            for each, name in ((self._from, "from"), (self._to, "to")):
                each.props(f"outlined dense options-dense data-testid={name}")
        self._difference = write(Markup())
        ui.timer(0, self._compare, once=True)

    async def _compare(self) -> None:
        """Load the two versions that are chosen, and show their difference unless others are by then."""
        chosen = (self._from.value, self._to.value)
        self._difference.content = tag("p", "Comparing …", class_="note", role="status")
        try:
            before, after = [await self._document(each) for each in chosen]
            found = await self._visit.apart(partial(difference, before, after))
        except ProblemError as error:
            found = _said(refusal(error))
        except UnreachableError as error:
            found = _said(str(error))
        if chosen == (self._from.value, self._to.value):
            self._difference.content = found

    async def _document(self, version: int) -> Document | None:
        read = self._visit.account.version(self._visit.tenant, self._kind, self._name, version)
        found: Document | None = (await self._visit.allowed(read)).document
        return found

    def _table(self, versions: list[VersionSummary]) -> Markup:
        may = self._visit.session.identity.writes
        titles = ["Version", "When, UTC", "By", "What", *([""] if may else [])]
        return table("versions", titles, [self._row(each, may) for each in versions])

    def _row(self, each: VersionSummary, may: bool) -> Markup:
        former = each.version != self._newest.version
        back = tag(
            "button", "Revert to this …", type="button", class_="pick", data_pick=each.version,
            aria_label=f"Revert to version {each.version}",
        )  # fmt: skip
        return tag(
            "tr",
            tag("th", str(each.version), scope="row"),
            tag("td", formatting.moment(each.at_ms)),
            tag("td", each.by),
            tag("td", "deleted" if each.deleted else "written"),
            tag("td", back if former else None) if may else None,
            data_version=each.version,
        )

    async def _revert(self, picked: str) -> None:
        wanted = int(picked)
        is_deletion = self._versions[wanted].deleted
        text = (
            "This deletes it: that version is its deletion." if is_deletion else "This writes a new version."
        )
        if not await agreed(f"Revert {self._name} to version {wanted}?", text, "Revert"):
            return
        account, tenant = self._visit.account, self._visit.tenant
        seen = NEW if self._newest.deleted else if_match(self._newest.version)
        if await self._visit.change(account.revert(tenant, self._kind, self._name, wanted, seen)):
            ui.navigate.to(self._visit.address(self._kind, self._name, "history"))  # the newest is there


def _said(text: str) -> Markup:
    return tag("p", text, class_="said", role="alert")


def history_button(visit: Visit, kind: str, name: str) -> Markup:
    """A link to the page."""
    return tag("a", "History", href=visit.address(kind, name, "history"), class_="act plain")
