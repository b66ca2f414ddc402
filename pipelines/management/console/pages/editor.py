"""The page of one document: its form and its YAML text, saving, and conflicts with other writers."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus

from msgspec import Struct
from nicegui import ui

from pipelines.management.console.api_client import (
    NEW as IF_NEW,
)
from pipelines.management.console.api_client import (
    Document,
    ProblemError,
    Schema,
    if_match,
)
from pipelines.management.console.forms.typed_text import TypedError
from pipelines.management.console.forms.values import sentence
from pipelines.management.console.forms.yaml_text import TooLongError, difference
from pipelines.management.console.html import Markup, tag
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.pages.conflict import show_conflict
from pipelines.management.console.pages.form import Content, FormView
from pipelines.management.console.pages.frame import agreed, button, show_key
from pipelines.management.console.pages.text_view import TextView
from pipelines.management.console.pages.visit import KINDS, Visit, refusal
from pipelines.management.console.panels.base import write
from shared.contracts.api_answers.documents import Version, WrittenVersion
from shared.contracts.api_answers.problems import FieldError


class Choices(Struct, frozen=True, kw_only=True):
    """The connectors and document names that a form offers to choose from."""

    connectors: Mapping[str, Schema] = {}
    names: Mapping[str, Sequence[str]] = {}
    """Documents by the pointer of the field that names one."""


class Editor:
    """The panel; `stored` is None for a new document."""

    def __init__(
        self, visit: Visit, kind: str, stored: Version | None, choices: Choices, content: Content
    ) -> None:
        self._visit, self._kind, self._stored = visit, kind, stored
        self._is_new, self._under_way = stored is None, False
        self._writes = visit.session.identity.writes
        with ui.element("form").classes("edit").on("submit.prevent", self.save) as self._root:
            self._name = self._draw_name()
            with ui.element("div").classes("views").props("role=group aria-label=View"):
                self._as_form = button("Form", self._show_form, "view-form")
                self._as_text = button("YAML", self._show_text, "view-yaml")
            self._problems = write(Markup())
            self._conflict = ui.element("div")
            self._form = FormView(kind, content, choices.connectors, choices.names, writes=self._writes)
            self._text = TextView(writes=self._writes)
            self._textual = False
            self._mark_view()
            if self._writes:
                self._draw_acts()

    @property
    def stored(self) -> Version | None:
        """The version that was read or written last; None while there is none."""
        return self._stored

    async def typed(self) -> Document | None:
        """The document as it is typed, with its name; None if it cannot be read, which is then said."""
        await self.show_errors([])
        document = await self._typed()
        return None if document is None else self._headed(document)

    async def save(self) -> None:
        """Write what is typed, unless another write came since it was loaded."""
        await self._save(IF_NEW if self._stored is None else if_match(self._stored.version))

    async def _save(self, condition: Mapping[str, str]) -> None:
        """Write once: the second of a double click would be overtaken by the first."""
        if self._under_way:
            return
        self._under_way = True
        try:
            with self._root:  # what was clicked may be gone when its click has been handled
                await self._try_save(condition)
        finally:
            self._under_way = False

    def _entered(self) -> object:
        """All that is typed, to see later whether it still is."""
        name = self._name if isinstance(self._name, str) else self._name.value
        return name, self._textual, self._text.text if self._textual else self._form.texts

    async def _try_save(self, condition: Mapping[str, str]) -> None:
        sent = self._entered()
        await self.show_errors([])
        document = await self._typed()
        if document is None:
            return
        name = self._named(document)
        if not name:
            await self.show_errors([FieldError(pointer="/name", detail="give it a name")])
            return
        try:
            put = self._visit.account.put(self._visit.tenant, self._kind, name, document, condition)
            saved = await self._visit.allowed(put)
        except ProblemError as error:
            await self._refused(error, name)
        except UnreachableError as error:
            await self.show_errors([FieldError(pointer="", detail=str(error))])
        else:
            await self._saved(saved, name, sent)

    async def _refused(self, error: ProblemError, name: str) -> None:
        if error.status == HTTPStatus.PRECONDITION_FAILED:
            await self._overtaken(name)
        elif error.errors:
            await self.show_errors(error.errors)
        elif error.status != HTTPStatus.UNAUTHORIZED:
            await self.show_errors([FieldError(pointer="", detail=refusal(error))])

    async def _saved(self, saved: WrittenVersion, name: str, sent: object) -> None:
        self._stored = saved
        self._conflict.clear()
        if saved.write_key is not None:
            await show_key(saved.write_key)
        draw = None if self._is_new else await self._drawing(saved.document or {}, textual=self._textual)
        if self._entered() != sent:
            self._keep_typed(saved, name)
        elif self._is_new:
            ui.navigate.to(self._visit.address(self._kind, name))
        else:
            if draw is not None:
                draw()
            ui.notify(f"Saved as version {saved.version}.", type="positive")

    def _keep_typed(self, saved: WrittenVersion, name: str) -> None:
        """Leave what was typed during the save, for the next one, which is of the same name."""
        if not isinstance(self._name, str):
            self._name.value = name
            self._name.disable()
            self._name = name
        ui.notify(f"Saved as version {saved.version}, without what you typed since.", type="warning")

    async def _overtaken(self, name: str) -> None:
        """Show what another writer changed meanwhile, and let this one choose; what is typed stays."""
        read = self._visit.account.document(self._visit.tenant, self._kind, name)
        theirs: Version | None = None
        try:
            theirs = await self._visit.allowed(read)
        except ProblemError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                await self.show_errors([FieldError(pointer="", detail=refusal(error))])
                return
        except UnreachableError as error:
            await self.show_errors([FieldError(pointer="", detail=str(error))])
            return
        mine = self._stored
        before, after = (None if each is None else each.document for each in (mine, theirs))
        changed = await self._visit.apart(partial(difference, before, after))
        self._conflict.clear()
        with self._conflict:
            show_conflict(mine, theirs, changed, self._save, self._take)

    async def _take(self, theirs: Version) -> None:
        """Drop what is typed for what is stored."""
        if await self._load(theirs):
            self._stored = theirs
            self._conflict.clear()

    async def _load(self, stored: Version) -> bool:
        """Show what is stored; False if it is too long, which is then said."""
        await self.show_errors([])
        return await self._shown(stored.document or {}, textual=self._textual)

    async def _shown(self, document: Document, *, textual: bool) -> bool:
        draw = await self._drawing(document, textual=textual)
        if draw is None:
            return False
        draw()
        return True

    async def _drawing(self, document: Document, *, textual: bool) -> Callable[[], None] | None:
        """Shows a document when it is called; None if it is too long, which is then said."""
        try:
            if textual:
                return partial(self._text.show, await self._visit.apart(self._text.writing(document)))
            return partial(self._form.show, await self._visit.apart(self._form.spreading(document)))
        except TooLongError as error:
            await self.show_errors([FieldError(pointer="", detail=str(error))])
            return None

    async def delete(self) -> None:
        """Ask, then delete the version that is shown."""
        stored, name = self._stored, str(self._name)
        if stored is None or not await agreed(
            f"Delete {KINDS[self._kind]} {name}?",
            "Its history stays, and a former version can be brought back.",
            "Delete",
        ):
            return
        if await self._visit.change(
            self._visit.account.delete(self._visit.tenant, self._kind, name, stored.version)
        ):
            ui.navigate.to(self._visit.address(self._kind))

    def _draw_name(self) -> ui.input | str:
        if self._stored is not None:
            return str((self._stored.document or {}).get("name", ""))
        made = ui.input("Name *").props(
            "outlined dense stack-label autofocus data-testid=field-name no-error-icon hide-bottom-space"
        )
        made.props["hint"] = "Lower-case letters, digits, dots, dashes. It cannot be changed later."
        return made

    def _draw_acts(self) -> None:
        with ui.element("div").classes("acts"):
            button("Save", lambda: None, "save", "main").props("type=submit")
            if self._stored is not None:
                button("Delete …", self.delete, "delete", "danger")

    async def _typed(self) -> Document | None:
        read = self._text.reading() if self._textual else self._form.reading()
        try:
            return await self._visit.apart(read)
        except TypedError as error:
            await self.show_errors(error.errors)
            return None

    def _named(self, document: Document) -> str:
        if isinstance(self._name, str):
            return self._name
        return str(self._name.value or document.get("name") or "").strip()

    async def _show_form(self) -> None:
        await self._switch(textual=False)

    async def _show_text(self) -> None:
        await self._switch(textual=True)

    def _headed(self, document: Document) -> Document:
        return {**{key: value for key, value in self._head(document).items() if value}, **document}

    def _head(self, document: Document) -> Document:
        return {"kind": KINDS[self._kind], "name": self._named(document), "tenant": self._visit.tenant}

    def _without_head(self, document: Document) -> Document:
        """A document of the YAML for the form, which shows only a name beside it, and that of a new one.

        What is another page's stays, to be refused.
        """
        name = document.get("name")
        if isinstance(name, str) and not isinstance(self._name, str):
            self._name.value = name
        head = self._head(document)
        return {key: value for key, value in document.items() if (key, value) not in head.items()}

    async def _switch(self, *, textual: bool) -> None:
        if textual is self._textual:
            return
        await self.show_errors([])
        document = await self._typed()
        if document is None or textual is self._textual:  # it was clicked twice
            return
        shown = self._headed(document) if textual else self._without_head(document)
        if await self._shown(shown, textual=textual):
            self._textual = textual
            self._mark_view()

    def _mark_view(self) -> None:
        self._form.shown(not self._textual)
        self._text.shown(self._textual)
        for each, on in ((self._as_form, not self._textual), (self._as_text, self._textual)):
            each.props["aria-pressed"] = str(on).lower()
            each.update()

    async def show_errors(self, errors: Sequence[FieldError]) -> None:
        """Say what is wrong: at their fields; in one list what has none."""
        if self._textual and errors:
            others = await self._visit.apart(self._text.placing(errors))
        else:
            others = self._form.show_errors(errors)
        if not isinstance(self._name, str):
            of_name = [each for each in others if each.pointer == "/name"]
            self._name.error = "; ".join(sentence(each, "/name") for each in of_name) or None
            others = [each for each in others if each not in of_name]
        lines = [tag("li", sentence(each)) for each in others]
        self._problems.content = (
            tag("ul", *lines, class_="said", role="alert", data_testid="problems") if lines else Markup()
        )
