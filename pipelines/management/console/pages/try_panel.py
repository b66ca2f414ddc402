"""The panel that tries an event on the pipe as it is typed, saved or not."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

import msgspec
from msgspec import Raw
from nicegui import ui

from pipelines.management.console.api_client import ProblemError
from pipelines.management.console.forms.values import sentence
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.pages.editor import Editor
from pipelines.management.console.pages.frame import button
from pipelines.management.console.pages.preview_view import preview_view
from pipelines.management.console.pages.visit import Visit, refusal
from pipelines.management.console.panels.base import write
from shared.contracts.api_answers.problems import FieldError

_MOST: Final = 100_000
"""Characters of an event that can be tried: a message of the page's websocket is bounded."""

_EXAMPLE: Final = """{
  "specversion": "1.0",
  "id": "test-1",
  "source": "/test",
  "type": "order.placed",
  "data": {"order": 1, "user": {"email": "ann@example.com"}}
}"""
_NOTE: Final = (
    "A CloudEvent in JSON. The pipe above is tried as it is typed, saved or not; nothing is sent or stored."
)


class TryPanel:
    """The panel below a pipe's form."""

    def __init__(self, visit: Visit, editor: Editor) -> None:
        self._visit, self._editor = visit, editor
        with ui.element("section").classes("card span-12").props("aria-label='Try an event' data-testid=try"):
            write(joined(tag("h2", "Try an event"), tag("p", _NOTE, class_="note")))
            with ui.element("div").classes("edit"):
                self._text = ui.textarea("The event", value=_EXAMPLE).classes("wide code")
                self._text.props(f"outlined stack-label autogrow spellcheck=false maxlength={_MOST}")
                self._text.props("no-error-icon hide-bottom-space data-testid=try-text")
            with ui.element("div").classes("acts"):
                button("Try", self._try, "try-act", "main")
            self._result = write(Markup()).props("role=status data-testid=try-result")

    async def _try(self) -> None:
        self._result.content = Markup()
        self._text.error = None
        pipe = await self._editor.typed()
        if pipe is None:
            self._say("The pipe above cannot be tried: correct what is marked there.")
            return
        try:
            event = one_value(self._text.value or "")
        except ValueError as error:
            self._text.error = str(error)
            return
        try:
            preview = self._visit.account.preview(self._visit.tenant, pipe, event)
            self._result.content = preview_view(await self._visit.allowed(preview))
        except ProblemError as error:
            await self._refused(error)
        except UnreachableError as error:
            self._say(str(error))

    async def _refused(self, error: ProblemError) -> None:
        of_event = [each for each in error.errors if each.document == "event"]
        of_pipe = [each for each in error.errors if each.document.startswith("pipe/")]
        if of_event:
            self._text.error = _sentences(of_event)
        if of_pipe:
            await self._editor.show_errors(of_pipe)
            self._say("The pipe above cannot be tried: correct what is marked there.")
        if not of_event and not of_pipe and error.status != HTTPStatus.UNAUTHORIZED:
            self._say(_sentences(error.errors) or refusal(error))

    def _say(self, text: str) -> None:
        self._result.content = tag("p", text, class_="said", role="alert")


def _sentences(errors: Sequence[FieldError]) -> str:
    return "; ".join(map(sentence, errors))


def one_value(text: str) -> Raw:
    """The text, if it is one value of JSON: nothing typed may become another part of the request.

    Raises:
        ValueError: if it is not.
    """
    if len(text) > _MOST:
        raise ValueError(f"at most {_MOST:,} characters can be tried here")
    try:
        value = Raw(text.encode())
        msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ValueError(f"is not JSON: {error}") from None
    return value
