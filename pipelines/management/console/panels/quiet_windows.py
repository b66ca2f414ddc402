"""The panel of quiet windows, in which alarms are recorded but not sent."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from pipelines.management.console import formatting
from pipelines.management.console.html import Markup, tag
from pipelines.management.console.observe_client import ObserveClient, RefusedError, UnreachableError
from pipelines.management.console.panels.base import empty, panel, pickable
from pipelines.management.console.poller import Snapshot, View
from shared.contracts.alarms import AlarmKind, QuietWindow
from shared.contracts.scorecard import ALL_TENANTS
from shared.runtime.clock import Clock

_DEFAULT_MINUTES = 30
_MOST_MINUTES = 7 * 24 * 60


def window_list(windows: tuple[QuietWindow, ...]) -> Markup:
    """The current and future windows."""
    if not windows:
        return empty("No quiet window: every alarm is sent.")
    return tag("ul", *(_window(each) for each in windows), class_="alarms")


def _window(window: QuietWindow) -> Markup:
    kinds = (
        ", ".join(kind.value.replace("_", " ") for kind in window.kinds) or "every kind except proven loss"
    )
    tenants = "all tenants" if window.tenant == ALL_TENANTS else window.tenant
    remove = tag(
        "button",
        "Remove",
        type="button",
        class_="pick",
        data_pick=window.id,
        data_key=f"quiet-{window.id}",
        aria_label=f"Remove the quiet window {window.reason}",
    )
    return tag(
        "li",
        tag("p", tag("b", window.reason), remove, class_="row"),
        tag(
            "p",
            f"{formatting.moment(window.from_ms)} to {formatting.moment(window.until_ms)} · "
            f"{tenants} · {kinds}",
        ),
        data_quiet=window.id,
    )


class QuietWindows:
    """The panel: a list, and a form to add a window."""

    def __init__(
        self,
        client: ObserveClient,
        view: View,
        clock: Clock,
        changed: Callable[[], None],
        may_write: Callable[[], Awaitable[bool]],
    ) -> None:
        self._client, self._view, self._clock = client, view, clock
        self._changed, self._may_write = changed, may_write
        tenants = "all tenants" if view.tenant == ALL_TENANTS else view.tenant
        with panel("quiet", "Quiet windows", f"Alarms of {tenants} are recorded but not sent", span=5):
            self._list = pickable(self._remove)
            with ui.element("form").classes("form").on("submit.prevent", self._add):
                self._minutes = ui.number(
                    "Minutes from now", value=_DEFAULT_MINUTES, min=1, max=_MOST_MINUTES, precision=0
                ).props("outlined dense data-testid=quiet-minutes")
                self._reason = (
                    ui.input("Reason").props("outlined dense data-testid=quiet-reason").classes("wide")
                )
                self._kinds = ui.select(
                    {kind.value: kind.value.replace("_", " ") for kind in AlarmKind},
                    multiple=True,
                    label="Kinds (none: every kind except proven loss)",
                ).props("outlined dense options-dense data-testid=quiet-kinds")
                self._kinds.classes("wide")
                ui.button("Add", color=None).classes("main").props(
                    "type=submit unelevated no-caps data-testid=quiet-add"
                )

    def show(self, snapshot: Snapshot) -> None:
        """Update the list."""
        self._list.content = window_list(snapshot.quiet)

    async def _add(self) -> None:
        reason, minutes = (self._reason.value or "").strip(), self._minutes.value
        if not reason or not minutes or not 1 <= minutes <= _MOST_MINUTES:
            ui.notify(f"Give a reason, and 1 to {formatting.count(_MOST_MINUTES)} minutes.", type="warning")
            return
        now = self._clock()
        window = QuietWindow(
            tenant=self._view.tenant,
            kinds=[AlarmKind(kind) for kind in self._kinds.value or ()],
            from_ms=now,
            until_ms=now + int(minutes) * 60_000,
            reason=reason,
        )
        if await self._did(lambda: self._client.add_quiet(window)):
            self._reason.value = ""

    async def _remove(self, window_id: str) -> None:
        await self._did(lambda: self._client.remove_quiet(window_id))

    async def _did(self, change: Callable[[], Awaitable[None]]) -> bool:
        try:
            if not await self._may_write():
                return False
            await change()
        except (RefusedError, UnreachableError) as error:
            ui.notify(str(error), type="negative")
            return False
        self._changed()
        return True
