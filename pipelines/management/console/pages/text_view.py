"""The YAML view of a document."""

from collections.abc import Callable, Sequence
from functools import partial

from nicegui import ui

from pipelines.management.console.api_client import Document
from pipelines.management.console.forms.typed_text import document_of_text, with_lines
from pipelines.management.console.forms.yaml_text import document_text
from shared.contracts.api_answers.problems import FieldError


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

    def show(self, text: str) -> None:
        """Show another document, as the text that `writing` made."""
        self._text.value = text

    @property
    def text(self) -> str:
        """The text typed into the editor now."""
        return self._text.value or ""

    @staticmethod
    def writing(document: Document) -> Callable[[], str]:
        """Writes the text of a document, in any thread; a TooLongError says that it is too long."""
        return partial(document_text, document)

    def reading(self) -> Callable[[], Document]:
        """Reads the document that the text states, in any thread; a TypedError says why it states none."""
        return partial(document_of_text, self.text)

    def placing(self, errors: Sequence[FieldError]) -> Callable[[], list[FieldError]]:
        """Finds the lines of the text that errors mean, in any thread."""
        return partial(with_lines, self.text, errors)
