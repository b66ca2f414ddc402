"""The rollout of a pipe: its steps with the present one, the figures, and what an editor may ask."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from nicegui import ui

from pipelines.management.console import formatting
from pipelines.management.console.api_client import ProblemError
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.pages.frame import agreed, button
from pipelines.management.console.pages.visit import Visit
from pipelines.management.console.panels.base import badge, table, write
from shared.contracts.api_answers.documents import NewestVersion, Version
from shared.contracts.rollouts import RolloutView

_SECONDS: Final = 5.0
_DOTS: Final = {"going up": "kept", "done": "kept", "stopped": "far"}
_BUTTONS: Final = {"pause": "Pause", "resume": "Resume", "back": "One step back", "finish": "Open fully …"}

_ENDED: Final = "Your session has ended. Keep a copy of what you have typed, then sign in again."


class RolloutPanel:
    """Looks every few seconds while the pipe has a rollout; hidden if it has none.

    It never leads away by itself: something may be typed into the form above.
    """

    def __init__(
        self, visit: Visit, pipe: str, stored: NewestVersion, saved: Callable[[], Version | None]
    ) -> None:
        """`saved` is the version that the page has read or written last."""
        self._visit, self._pipe, self._saved = visit, pipe, saved
        self._box = ui.element("section").classes("card span-12").props("data-testid=rollout")
        with self._box:
            self._said = write(Markup()).props("role=status")
            self._text = write(Markup())
            self._buttons: dict[str, ui.button] = {}
            if visit.session.identity.writes:
                with ui.element("div").classes("acts"):
                    self._buttons = {action: self._button(action) for action in _BUTTONS}
        self._show(stored)
        self._timer = ui.timer(_SECONDS, self._look_on)

    def _button(self, action: str) -> ui.button:
        async def act() -> None:
            await self._request(action)

        return button(_BUTTONS[action], act, f"rollout-{action}")

    async def _request(self, action: str) -> None:
        if action == "finish" and not await agreed(
            f"Open {self._pipe} fully?", "It takes every matching event from now on.", "Open"
        ):
            return
        if await self._visit.change(self._visit.account.lead(self._visit.tenant, self._pipe, action)):
            await self._look()

    async def _look_on(self) -> None:
        if self._box.visible or _steps(self._saved()):
            await self._look()

    async def _look(self) -> None:
        try:
            read = self._visit.account.document(self._visit.tenant, "pipes", self._pipe)
            self._show(await self._visit.asked(read))
        except ProblemError as error:
            if error.status == HTTPStatus.UNAUTHORIZED:
                self._timer.deactivate()
                self._said.content = tag("p", _ENDED, class_="said")
        except UnreachableError:
            return  # what is shown stays; the next look may succeed

    def _show(self, stored: NewestVersion) -> None:
        found = stored.rollout
        self._box.set_visibility(found is not None)
        if found is None:
            return
        self._text.content = _told(found, _steps(stored))
        for action, each in self._buttons.items():
            each.set_enabled(action in applicable(found))


def _steps(stored: Version | None) -> list[float]:
    document = (stored and stored.document) or {}
    return [float(each) for each in (document.get("rollout") or {}).get("steps", ())]


def applicable(found: RolloutView) -> set[str]:
    """The actions that fit a state."""
    fits = {
        "pause": found.state in {"going up", "waiting"},
        "resume": found.state in {"paused", "stopped"},
        "back": found.step > 0,
        "finish": found.state != "done",
    }
    return {action for action, yes in fits.items() if yes}


def _told(found: RolloutView, steps: list[float]) -> Markup:
    following = (
        "" if found.next_ms is None else f", next step from {formatting.named_moment(found.next_ms)} on"
    )
    said = f"{found.reason} · since {formatting.named_moment(found.since_ms)}{following}".lstrip(" ·")
    rows = [_row(number, share, found) for number, share in enumerate([0.0, *steps])]
    return joined(
        tag("h3", "Rollout"),
        tag("p", badge(found.state, _DOTS.get(found.state, "missed")), " ", said, class_="note"),
        table("rollout-steps", ["Step", "Share", ""], rows[(1 if found.step else 0) :]),
    )


def _row(number: int, share: float, found: RolloutView) -> Markup:
    present = number == found.step
    return tag(
        "tr",
        tag("th", str(number), scope="row"),
        tag("td", f"{share:g} %"),
        tag("td", tag("strong", "now") if present else None),
        aria_current="step" if present else None,
        data_step=number,
    )
