"""The YAML view of a document."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace
from nicegui import ui

from pipelines.management.console.api_client import Document, FieldError
from pipelines.management.console.forms.values import TypedError, line_of_pointer, one_value
from pipelines.management.console.forms.yaml_text import document_text


class TextView:
    """One field with the whole document."""

    def __init__(self, *, writes: bool) -> None:
        self._box = ui.element("div").classes("fields")
        with self._box:
            self._text = ui.textarea("The document in YAML").classes("wide code whole")
            self._text.props("outlined stack-label autogrow spellcheck=false data-testid=yaml no-error-icon")
        if not writes:
            self._text.props("readonly")

    def shown(self, on: bool) -> None:
        """Show or hide it."""
        self._box.set_visibility(on)

    def show(self, document: Document) -> None:
        """Show another document."""
        self._text.value = document_text(document)

    def document(self) -> Document:
        """What the text states.

        Raises:
            TypedError: if it is not YAML, or not a mapping.
        """
        try:
            found = one_value(self._text.value or "")
        except ValueError as error:
            raise TypedError([FieldError(pointer="", detail=str(error))]) from None
        if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
            raise TypedError([FieldError(pointer="", detail="write  field: value  lines")])
        try:
            msgspec.json.encode(found)
        except (TypeError, ValueError, RecursionError) as error:
            raise TypedError([FieldError(pointer="", detail=f"cannot be written as JSON: {error}")]) from None
        return found

    def show_errors(self, errors: Sequence[FieldError]) -> list[FieldError]:
        """The errors with the lines of the text that they mean."""
        text = self._text.value or ""
        return [
            replace(each, detail=f"line {line_of_pointer(text, each.pointer)}: {each.detail}")
            if each.pointer
            else each
            for each in errors
        ]
