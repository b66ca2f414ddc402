"""A dialog with the card of one minute or one day."""

from collections.abc import Awaitable
from typing import Final, NamedTuple

from nicegui import ui

from pipelines.management.console import formatting
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.observe_client import ObserveClient, RefusedError, UnreachableError
from pipelines.management.console.panels.base import empty, minute_map, pickable, write
from pipelines.management.console.panels.cards import day_card, minute_card
from pipelines.management.console.panels.heatmap import day_key, day_map, spent_minutes
from pipelines.management.console.poller import View
from shared.contracts.envelope import MINUTE_MS
from shared.runtime.clock import Clock

_CLOSE: Final = "flat no-caps dense data-testid=close"
_NOTHING: Final = Markup()


class _Shown(NamedTuple):
    """The content of the dialog below its title."""

    body: Markup
    map: Markup = _NOTHING
    spent: Markup = _NOTHING


class Details:
    """The dialog; one per page."""

    def __init__(self, client: ObserveClient, view: View, clock: Clock) -> None:
        self._client, self._view, self._clock = client, view, clock
        self._first = self._asked = 0
        self._dialog = ui.dialog().props("aria-label=Details data-testid=details")
        with self._dialog, ui.element("div").classes("card details"):
            with ui.element("div").classes("head"):
                self._title = write(Markup())
                ui.button("Close", on_click=self._dialog.close, color=None).props(_CLOSE)
            self._map = minute_map(self._minute_of_day)
            self._spent = pickable(self._minute_of_day)
            self._body = write(Markup())

    async def minute(self, minute: int) -> None:
        """Open the dialog for an epoch minute."""
        self._open(f"{formatting.clock_minute(minute)} UTC, {formatting.day_of(minute)}")
        await self._fill(self._minute(minute))

    async def day(self, day: str) -> None:
        """Open the dialog for a day, `YYYY-MM-DD`."""
        self._first = formatting.first_minute(day)
        self._open(day)
        await self._fill(self._day(day))

    async def _minute_of_day(self, picked: str) -> None:
        await self.minute(self._first + int(picked))

    def _open(self, title: str) -> None:
        self._asked += 1
        self._title.content = tag("h2", title)
        self._show(_Shown(tag("p", "Loading …", class_="empty")))
        self._dialog.open()

    async def _fill(self, content: Awaitable[_Shown]) -> None:
        asked = self._asked
        try:
            found = await content
        except (RefusedError, UnreachableError) as error:
            found = _Shown(empty(str(error)))
        if asked == self._asked:  # nothing else was selected meanwhile
            self._show(found)

    def _show(self, found: _Shown) -> None:
        self._body.content, self._map.content, self._spent.content = found

    async def _minute(self, minute: int) -> _Shown:
        return _Shown(minute_card(await self._client.minute(self._view.tenant, minute)))

    async def _day(self, day: str) -> _Shown:
        first = formatting.first_minute(day)
        card = await self._client.day(self._view.tenant, day)
        marks = await self._client.marks(self._view.tenant, day)
        last = self._clock() // MINUTE_MS
        return _Shown(
            body=day_card(card),
            map=joined(day_map(marks, first, last), day_key(marks, first, last)),
            spent=spent_minutes(card.spent, first),
        )
