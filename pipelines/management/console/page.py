"""The page: one object per browser, updated by a poller."""

from typing import Final
from urllib.parse import urlencode

from nicegui import Client, ui

from pipelines.management.console import formatting
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.panels.alarms import Alarms
from pipelines.management.console.panels.banner import Banner, status
from pipelines.management.console.panels.base import write
from pipelines.management.console.panels.calendar import Calendar
from pipelines.management.console.panels.destinations import Destinations
from pipelines.management.console.panels.details import Details
from pipelines.management.console.panels.lags import Lags
from pipelines.management.console.panels.losses import Losses
from pipelines.management.console.panels.node_latency import NodeLatency
from pipelines.management.console.panels.silences import Silences
from pipelines.management.console.panels.summary import Summary
from pipelines.management.console.panels.watched_fields import WatchedFields
from pipelines.management.console.poller import Pollers, PollState, View
from shared.contracts.scorecard import ALL_TENANTS
from shared.runtime.clock import Clock

HOURS: Final = {1: "Last hour", 6: "Last 6 hours", 24: "Last 24 hours"}
_NO_EVENTS: Final = tag(
    "div",
    tag("h2", "No events yet"),
    tag("p", "Send one; it appears here within seconds:"),
    tag("pre", "hifi send --seconds 60 --rate 5 --key KEY"),
    tag("p", "The key is in the source's document: see “Your first event” in the README."),
    class_="card span-12 empty",
    data_testid="no-events",
)


class Page:
    """The page in one browser."""

    def __init__(  # what a page is of
        self, pollers: Pollers, view: View, side: str, clock: Clock, documents: str | None
    ) -> None:
        self._view = view
        self._head(side, documents)
        self._banner = Banner()
        with ui.element("main").classes("page") as self._main:
            self._tiles = Summary()
            self._empty = write(Markup(), "span-12")
            self._durations = NodeLatency(view.hours)
            self._lags = Lags()
            self._calendar = Calendar(self._pick_minute_of_day, self._pick_day)
            self._losses = Losses(self._pick_minute)
            self._destinations = Destinations()
            self._watched = WatchedFields()
            self._alarms = Alarms()
            self._quiet = Silences(pollers.client, view, clock, self._hurry)
        write(
            tag("p", "All times are UTC. Lags are in milliseconds; percentiles are accurate to 2 %."), "foot"
        )
        self._details = Details(pollers.client, view, clock)
        self._feed = pollers.watch(view, self.show)
        self.show(self._feed.state)

    def show(self, state: PollState) -> None:
        """Bring every panel up to date."""
        self._banner.show(state)
        self._status.content = status(state)
        self._main.classes(add="stale" if state.failure else None, remove=None if state.failure else "stale")
        snapshot = state.snapshot
        if snapshot is None:
            return
        self._offer(snapshot.tenants)
        self._empty.content = Markup() if snapshot.cards or snapshot.day.collected else _NO_EVENTS
        for panel in (
            self._tiles, self._durations, self._lags, self._calendar, self._losses, self._destinations,
            self._watched, self._alarms, self._quiet,
        ):  # fmt: skip
            panel.show(snapshot)

    def _head(self, side: str, documents: str | None) -> None:
        with ui.element("header").classes("top"):
            write(joined(tag("h1", "hifi"), tag("span", f"{side} side", class_="quiet")), "brand")
            if documents is not None:
                write(tag("nav", tag("a", "Documents", href=documents), aria_label="Pages"), "links")
            self._status = write(Markup(), "status")
            with ui.element("div").classes("controls"):
                self._tenants = ui.select(
                    {ALL_TENANTS: "All tenants", self._view.tenant: _tenant_name(self._view.tenant)},
                    value=self._view.tenant,
                    label="Tenant",
                    on_change=self._go,
                ).props("outlined dense options-dense data-testid=tenant")
                self._hours = ui.select(HOURS, value=self._view.hours, label="Charts", on_change=self._go)
                self._hours.props("outlined dense options-dense data-testid=hours")
            write(tag("button", "Theme: auto", type="button", class_="theme", data_theme_button="1"))

    def _offer(self, tenants: tuple[str, ...]) -> None:
        names = dict.fromkeys((ALL_TENANTS, *sorted(tenants), self._view.tenant))
        options = {name: _tenant_name(name) for name in names}
        if options != self._tenants.options:
            self._tenants.set_options(options)

    def _go(self) -> None:
        ui.navigate.to(address(View(str(self._tenants.value), int(self._hours.value or 1))))

    def _hurry(self) -> None:
        self._feed.hurry()

    async def _pick_minute(self, picked: str) -> None:
        await self._details.minute(int(picked))

    async def _pick_minute_of_day(self, picked: str) -> None:
        snapshot = self._feed.state.snapshot
        if snapshot is not None:
            await self._details.minute(formatting.first_minute(snapshot.day.day) + int(picked))

    async def _pick_day(self, picked: str) -> None:
        await self._details.day(picked)


def _tenant_name(tenant: str) -> str:
    return "All tenants" if tenant == ALL_TENANTS else tenant


def address(view: View) -> str:
    """The path and query of the page for a view."""
    asked = {}
    if view.tenant != ALL_TENANTS:
        asked["tenant"] = view.tenant
    if view.hours != 1:
        asked["hours"] = str(view.hours)
    return f"/?{urlencode(asked)}" if asked else "/"


def shown(  # noqa: PLR0913, PLR0917  # what a page is of
    pollers: Pollers, client: Client, view: View, side: str, clock: Clock, documents: str | None
) -> None:
    """Build the page for a browser; its poller is released when the browser disconnects.

    `documents` is the address of the pages of documents, if there are any.
    """
    page = Page(pollers, view, side, clock, documents)
    client.on_delete(lambda: pollers.leave(view, page.show))
