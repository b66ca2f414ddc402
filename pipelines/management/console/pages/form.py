"""The form of a document: one input for each field that its kind has."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import groupby
from typing import Any, Final

from msgspec import Struct
from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement
from nicegui.events import ValueChangeEventArguments

from pipelines.management.console.api_client import Document, Schema
from pipelines.management.console.forms.fields import OPTIONS, Field, Shape, document_fields
from pipelines.management.console.forms.values import Texts, document_of, spread, typed
from pipelines.management.console.forms.yaml_text import without_keys
from shared.contracts.api_answers.problems import FieldError
from shared.contracts.documents import DEFAULT_CONNECTOR

CONNECTOR: Final = "/connector"
_MULTILINE: Final = frozenset({Shape.YAML, Shape.LONG})


class Content(Struct, frozen=True, kw_only=True):
    """A document with the fields and texts that its form shows."""

    document: Document
    fields: Sequence[Field]
    texts: Texts


def content_of(kind: str, document: Document, connectors: Mapping[str, Schema]) -> Content:
    """The content of a document's form; it may take seconds.

    Raises:
        TooLongError: if the YAML of a field is too long.
    """
    kept = without_keys(document)
    fields = document_fields(kind, connectors.get(_connector(document)))
    return Content(document=kept, fields=fields, texts=typed(kept, fields))


def _connector(document: Document) -> str:
    return str(document.get("connector", DEFAULT_CONNECTOR))


class FormView:
    """The inputs; what is typed stays when they are drawn anew."""

    def __init__(
        self,
        kind: str,
        content: Content,
        connectors: Mapping[str, Schema],
        names: Mapping[str, Sequence[str]],
        *,
        writes: bool,
    ) -> None:
        """Draw the form.

        Args:
            kind: in the plural.
            content: what it shows.
            connectors: JSON Schemas of the options of destinations, by the connector's name.
            names: what can be chosen for a field, by its pointer.
            writes: whether anything can be changed.
        """
        self._kind, self._connectors, self._names, self._writes = kind, connectors, names, writes
        self._box = ui.element("div").classes("fields")
        self.show(content)

    def show(self, content: Content) -> None:
        """Show another document."""
        self._stored = self._base = content.document
        self._fields, self._texts = content.fields, dict(content.texts)
        self._draw()

    @property
    def texts(self) -> Texts:
        """The texts typed into its fields now."""
        return dict(self._texts)

    def spreading(self, document: Document) -> Callable[[], Content]:
        """Finds what the form of a document shows, in any thread; a TooLongError says that it is too long."""
        return partial(content_of, self._kind, document, self._connectors)

    def shown(self, on: bool) -> None:
        """Show or hide it."""
        self._box.set_visibility(on)

    def reading(self) -> Callable[[], Document]:
        """Reads the document that the form states, in any thread; a TypedError says what cannot be read."""
        return partial(document_of, dict(self._texts), self._fields, self._base)

    def show_errors(self, errors: Sequence[FieldError]) -> list[FieldError]:
        """Say what is wrong at each field; returns what no field can show."""
        shown, others = spread(errors, self._fields)
        for pointer, element in self._inputs.items():
            element.error = shown.get(pointer)
        return others

    def _draw(self) -> None:
        self._box.clear()
        self._inputs: dict[str, ValidationElement[Any]] = {}
        with self._box:
            for group, fields in groupby(self._fields, key=lambda each: each.path[:-1]):
                with _group(group):
                    for field in fields:
                        self._draw_field(field)

    def _draw_field(self, field: Field) -> None:
        made = self._input(field)
        made.props["data-testid"] = f"field{field.pointer.replace('/', '-')}"
        if isinstance(made, ValidationElement):
            made.props["hint"] = field.hint
            made.props("outlined dense stack-label no-error-icon hide-bottom-space")
            self._inputs[field.pointer] = made
        if field.shape in _MULTILINE:
            made.classes("wide code").props("autogrow spellcheck=false")
        if not self._writes:
            made.disable()

    def _input(self, field: Field) -> ui.input | ui.textarea | ui.select | ui.checkbox:
        value, kept = self._texts[field.pointer], self._keeper(field)
        choices = self._choices(field)
        if field.shape is Shape.FLAG:
            return ui.checkbox(field.label, value=bool(value), on_change=kept)
        if choices:
            options = list(dict.fromkeys([*choices, *([str(value)] if value else [])]))
            return ui.select(options, label=field.label, value=value or None, on_change=kept, clearable=True)
        usual = "" if field.default in (None, "", {}, []) else f"{field.default} unless given"
        if field.shape in _MULTILINE:
            return ui.textarea(field.label, value=str(value or ""), on_change=kept)
        return ui.input(field.label, value=str(value or ""), placeholder=usual, on_change=kept)

    def _choices(self, field: Field) -> Sequence[str]:
        if field.pointer == CONNECTOR:
            return sorted(self._connectors)
        return self._names.get(field.pointer, field.choices)

    def _keeper(self, field: Field) -> Callable[[ValueChangeEventArguments[Any]], None]:
        def keep(event: ValueChangeEventArguments[Any]) -> None:
            self._texts[field.pointer] = event.value
            if field.pointer == CONNECTOR and self._connectors:
                self._of_connector(str(event.value or DEFAULT_CONNECTOR))

        return keep

    def _of_connector(self, connector: str) -> None:
        """Show another connector's options; what is typed elsewhere stays."""
        same = connector == _connector(self._stored)
        self._base = {**self._base, OPTIONS: self._stored.get(OPTIONS, {}) if same else {}}
        self._fields = document_fields(self._kind, self._connectors.get(connector))
        new = [field for field in self._fields if field.pointer not in self._texts]
        self._texts |= typed(self._base, new)
        self._draw()
        self._inputs[CONNECTOR].run_method("focus")  # where the person was


def _group(path: Sequence[str]) -> AbstractContextManager[object]:
    """The fields of the document itself, or of a part of it, under its name."""
    if not path:
        return ui.element("div").classes("group")
    with ui.element("fieldset").classes("group") as made, ui.element("legend"):
        ui.label(" · ".join(path).replace("_", " ").capitalize())
    return made
