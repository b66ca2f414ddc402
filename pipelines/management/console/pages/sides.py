"""Both sides: their state, who acts, the release under way and the last ones, for operators."""

from collections.abc import Callable
from typing import Final

from fastapi import Request, Response
from nicegui import ui

from pipelines.management.console import formatting
from pipelines.management.console.api_client import ProblemError
from pipelines.management.console.html import Markup, tag
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.pages import sides_view
from pipelines.management.console.pages.visit import Shown, Visit, refusal
from pipelines.management.console.panels.base import panel, write
from pipelines.management.console.signing_in.sign_in import SIDES
from shared.contracts.sides import Sides

_SECONDS: Final = 3.0
_ANSWER_SECONDS: Final = 30.0


def add_sides_page(shown: Shown) -> None:
    """Register the page."""

    @ui.page(SIDES, title="hifi: sides", response_timeout=_ANSWER_SECONDS)
    async def sides(request: Request) -> Response | None:
        async def build(visit: Visit) -> Callable[[], object]:
            found = await visit.account.sides()
            return lambda: SidesPage(visit, found)

        return await shown(request, "", SIDES, build)


class SidesPage:
    """The page. It looks every few seconds; while the API does not answer, what was seen last stays."""

    def __init__(self, visit: Visit, found: Sides) -> None:
        self._visit, self._found = visit, found
        self._failure = write(Markup(), "span-12").props("role=status data-testid=sides-failure")
        with panel("sides-panel", "Sides"):
            self._note = write(Markup())
            self._sides = write(Markup(), "noted")
        with panel("actors-panel", "Who acts"):
            self._actors = write(Markup())
        with panel("release-panel", "Release"):
            self._release = write(Markup())
        with panel("ended-panel", "The last releases"):
            self._ended = write(Markup())
        self._show(found)
        ui.timer(_SECONDS, self._look)

    async def _look(self) -> None:
        try:
            self._show(await self._visit.allowed(self._visit.account.sides()))
        except ProblemError as error:
            self._fail(refusal(error))
        except UnreachableError as error:
            self._fail(str(error))

    def _fail(self, text: str) -> None:
        seen = f"What is below was seen at {formatting.named_time(self._found.at_ms)}."
        self._failure.content = tag("p", f"{text}. {seen}", class_="said")

    def _show(self, found: Sides) -> None:
        self._found = found
        self._failure.content = Markup()
        as_of = f" As of {formatting.named_time(found.at_ms)}."
        self._note.content = tag("p", sides_view.deployer_note(found) + as_of, class_="note")
        self._sides.content = sides_view.sides_table(found.sides)
        self._actors.content = sides_view.actors_table(found.sides)
        self._release.content = sides_view.release_part(found.release, found.at_ms)
        self._ended.content = sides_view.ended_table(found.ended)
