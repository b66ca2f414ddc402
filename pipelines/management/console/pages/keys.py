"""The write keys of a source: make one, shown once; list them; remove one."""

from nicegui import ui

from pipelines.management.console import formatting
from pipelines.management.console.api_client import ProblemError
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.pages.frame import agreed, button, show_key
from pipelines.management.console.pages.visit import Visit, refusal
from pipelines.management.console.panels.base import pickable, table, write
from shared.contracts.write_keys import WriteKey


class Keys:
    """The panel."""

    def __init__(self, visit: Visit, source: str, keys: list[WriteKey]) -> None:
        self._visit, self._source = visit, source
        self._list = pickable(self._remove)
        self._show(keys)
        if visit.session.identity.writes:
            with ui.element("form").classes("form").on("submit.prevent", self._add):
                self._label = ui.input("Label of a new key").props(
                    "outlined dense data-testid=key-label maxlength=80"
                )
                button("Make a key", lambda: None, "key-add", "main").props("type=submit")

    def _show(self, keys: list[WriteKey]) -> None:
        may = self._visit.session.identity.writes
        titles = ["Label", "Key", "Made, UTC", "Last used, UTC", "By", *([""] if may else [])]
        self._list.content = table("keys", titles, [_row(each, may) for each in keys])

    async def _add(self) -> None:
        visit = self._visit
        try:
            key = await visit.allowed(
                visit.account.add_key(visit.tenant, self._source, (self._label.value or "").strip())
            )
        except (ProblemError, UnreachableError) as error:
            said = refusal(error) if isinstance(error, ProblemError) else str(error)
            ui.notify(said, type="negative", timeout=8_000)
            return
        self._label.value = ""
        await show_key(key)
        await self._load()

    async def _remove(self, picked: str) -> None:
        text = "Requests with it are answered 401 within seconds."
        if not await agreed("Remove this write key?", text, "Remove"):
            return
        visit = self._visit
        if await visit.change(visit.account.remove_key(visit.tenant, self._source, picked)):
            await self._load()

    async def _load(self) -> None:
        async def load() -> None:
            self._show(await self._visit.account.keys(self._visit.tenant, self._source))

        await self._visit.change(load())


def _row(key: WriteKey, may: bool) -> Markup:
    name = key.label or "no label"
    remove = tag(
        "button",
        "Remove …",
        type="button",
        class_="pick",
        data_pick=key.id,
        aria_label=f"Remove the key {name}",
    )
    return tag(
        "tr",
        tag("th", name, scope="row"),
        tag("td", tag("code", f"…{key.last_four}" if key.last_four else key.id)),
        tag("td", formatting.NONE if key.made_ms is None else formatting.moment(key.made_ms)),
        tag("td", "not yet" if key.used_ms is None else formatting.moment(key.used_ms)),
        tag("td", key.made_by or formatting.NONE),
        tag("td", remove) if may else None,
        data_key_id=key.id,
    )


def keys_head() -> Markup:
    """The title."""
    return joined(
        tag("h3", "Write keys"),
        tag(
            "p",
            "Several are valid at a time: make a new one, use it everywhere, then remove the old.",
            class_="note",
        ),
    )


def show_keys(visit: Visit, source: str, keys: list[WriteKey]) -> None:
    """The section of a source's page."""
    with ui.element("section").classes("card span-12").props("data-testid=write-keys"):
        write(keys_head())
        Keys(visit, source, keys)
