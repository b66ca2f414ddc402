"""The history of a document: its versions, the difference of two, and going back to one."""

from nicegui import ui

from pipelines.management.console import formatting
from pipelines.management.console.api_client import Version
from pipelines.management.console.forms.yaml_text import difference
from pipelines.management.console.html import Markup, tag
from pipelines.management.console.pages.frame import agreed
from pipelines.management.console.pages.visit import Visit
from pipelines.management.console.panels.base import pickable, table, write


class History:
    """The panel; `versions` are newest first."""

    def __init__(self, visit: Visit, kind: str, name: str, versions: list[Version]) -> None:
        self._visit, self._kind, self._name = visit, kind, name
        self._versions = {each.version: each for each in versions}
        self._newest = versions[0].version
        pickable(self._revert).content = self._table(versions)
        if len(versions) > 1:
            self._draw_difference(versions)

    def _draw_difference(self, versions: list[Version]) -> None:
        write(tag("h3", "What changed"))
        numbers = {each.version: f"version {each.version}" for each in versions}
        with ui.element("div").classes("form"):
            self._from = ui.select(numbers, value=versions[1].version, label="From", on_change=self._compare)
            self._to = ui.select(numbers, value=versions[0].version, label="To", on_change=self._compare)
            for each, name in ((self._from, "from"), (self._to, "to")):
                each.props(f"outlined dense options-dense data-testid={name}")
        self._difference = write(Markup())
        self._compare()

    def _compare(self) -> None:
        before, after = (self._versions[each.value].document for each in (self._from, self._to))
        self._difference.content = difference(before, after)

    def _table(self, versions: list[Version]) -> Markup:
        may = self._visit.session.identity.writes
        titles = ["Version", "When, UTC", "By", "What", *([""] if may else [])]
        return table("versions", titles, [self._row(each, may) for each in versions])

    def _row(self, each: Version, may: bool) -> Markup:
        former = each.version != self._newest
        back = tag(
            "button", "Revert to this …", type="button", class_="pick", data_pick=each.version,
            aria_label=f"Revert to version {each.version}",
        )  # fmt: skip
        return tag(
            "tr",
            tag("th", str(each.version), scope="row"),
            tag("td", formatting.moment(each.at_ms)),
            tag("td", each.by),
            tag("td", "deleted" if each.document is None else "written"),
            tag("td", back if former else None) if may else None,
            data_version=each.version,
        )

    async def _revert(self, picked: str) -> None:
        wanted = int(picked)
        is_deletion = self._versions[wanted].document is None
        text = (
            "This deletes it: that version is its deletion." if is_deletion else "This writes a new version."
        )
        if not await agreed(f"Revert {self._name} to version {wanted}?", text, "Revert"):
            return
        account, tenant = self._visit.account, self._visit.tenant
        if await self._visit.change(account.revert(tenant, self._kind, self._name, wanted, self._newest)):
            ui.navigate.reload()


def history_button(visit: Visit, kind: str, name: str) -> Markup:
    """A link to the page."""
    return tag("a", "History", href=visit.address(kind, name, "history"), class_="act plain")
