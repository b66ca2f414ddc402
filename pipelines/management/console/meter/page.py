"""The page: one object per browser, updated by a poller."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from nicegui import Client, ui

from pipelines.management.console import formatting
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.meter.access import Access, AccessEndedError
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.panels.alarms import Alarms
from pipelines.management.console.panels.banner import Banner, status
from pipelines.management.console.panels.base import write
from pipelines.management.console.panels.calendar import Calendar
from pipelines.management.console.panels.destinations import Destinations
from pipelines.management.console.panels.details import Details
from pipelines.management.console.panels.lags import Lags
from pipelines.management.console.panels.losses import Losses
from pipelines.management.console.panels.node_latency import NodeLatency
from pipelines.management.console.panels.quiet_windows import QuietWindows
from pipelines.management.console.panels.summary import Summary
from pipelines.management.console.panels.watched_fields import WatchedFields
from pipelines.management.console.poller import Pollers, PollState, View
from pipelines.management.console.signing_in.sign_in import HOME
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


@dataclass(frozen=True, kw_only=True)
class PageSettings:
    """The settings that all pages of the meter share."""

    side: str
    clock: Clock
    documents: str | None
    """The address of the pages of documents, if there are any."""

    access_seconds: float
    """How often an open page asks whether it may go on."""


class Page:
    """The page in one browser. It ends, and leads away, when its access does."""

    def __init__(
        self, pollers: Pollers, client: Client, view: View, settings: PageSettings, access: Access
    ) -> None:
        self._pollers, self._client, self._view, self._access = pollers, client, view, access
        clock = settings.clock
        self._head(settings.side, settings.documents)
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
            self._quiet = QuietWindows(pollers.client, view, clock, self._hurry, self._may_write)
        write(
            tag("p", "All times are UTC. Lags are in milliseconds; percentiles are accurate to 2 %."), "foot"
        )
        self._details = Details(pollers.client, view, clock)
        ui.timer(settings.access_seconds, self._confirm, immediate=False)
        self._feed = pollers.watch(view, self._polled)
        self.show(self._feed.state)

    def leave(self) -> None:
        """Watch no more."""
        self._pollers.leave(self._view, self._polled)

    def show(self, state: PollState) -> None:
        """Bring every panel up to date."""
        self._banner.show(state)
        self._status.content = status(state)
        self._main.classes(add="stale" if state.failure else None, remove=None if state.failure else "stale")
        snapshot = state.snapshot
        if snapshot is None:
            return
        self._offer(snapshot.tenants)
        counted = snapshot.cards or snapshot.day.collected or snapshot.now.behind
        self._empty.content = Markup() if counted else _NO_EVENTS
        for panel in (
            self._tiles, self._durations, self._lags, self._calendar, self._losses, self._destinations,
            self._watched, self._alarms, self._quiet,
        ):  # fmt: skip
            panel.show(snapshot)

    def _polled(self, state: PollState) -> None:
        if self._access.is_open:
            self.show(state)
        else:
            self._end()

    async def _confirm(self) -> None:
        try:
            await self._may_write()
        except UnreachableError:
            return  # operators need the meter most while something is away; no click writes meanwhile

    async def _may_write(self) -> bool:
        """Whether the access still holds; the page ends if it does not.

        Raises:
            UnreachableError: if that cannot be found out now.
        """
        try:
            await self._access.confirm()
        except AccessEndedError:
            self._end()
            return False
        return True

    def _end(self) -> None:
        """Lead away, and keep nothing to see or to click for a browser that does not follow."""
        self.leave()
        with self._client:
            ui.navigate.to(HOME)
        self._client.content.clear()

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


def shown(pollers: Pollers, client: Client, view: View, settings: PageSettings, access: Access) -> None:
    """Build the page for a browser; its poller is released when the browser disconnects."""
    page = Page(pollers, client, view, settings, access)
    client.on_delete(page.leave)
