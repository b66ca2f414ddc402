"""Documents as YAML text, and the differences between two. Pure; a large document takes seconds."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from io import StringIO
from typing import Final

import yaml

from pipelines.management.console.api_client import Document
from pipelines.management.console.html import Markup, tag
from shared.contracts.limits import MAX_DOCUMENT_BYTES
from shared.documents.yaml_dumper import CoreDumper

_WIDTH: Final = 100
_FIRST: Final = ("kind", "name", "tenant")
_MOST_CHARACTERS: Final = 4 * MAX_DOCUMENT_BYTES
"""Most characters of a text; a deeply nested one is mostly indentation."""

_MOST_CHANGED: Final = 4_000
"""Lines between the first and the last that differ: the time grows with their cube."""

_CONTEXT: Final = 3
_STYLES: Final = {"+": "added", "-": "removed", "@": "place"}


class TooLongError(ValueError):
    """The YAML of a document is too long for a page."""

    def __init__(self) -> None:
        super().__init__(
            f"its YAML has more than {_MOST_CHARACTERS:,} characters, too many for a page; "
            "`hifi get KIND NAME` shows it whole"
        )


class _Bounded(StringIO):
    def write(self, text: str, /) -> int:
        if self.tell() + len(text) > _MOST_CHARACTERS:
            raise TooLongError
        return super().write(text)


def written(value: object) -> str:
    """A value as YAML, its members in their order.

    Raises:
        TooLongError: if it is too long.
    """
    text = _Bounded()
    yaml.dump(value, text, Dumper=CoreDumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return text.getvalue().removesuffix("...\n")


def document_text(document: Document | None) -> str:
    """A document as YAML, without the digests of its write keys; of a deletion, nothing."""
    if document is None:
        return ""
    first = {key: document[key] for key in _FIRST if key in document}
    return written(first | without_keys(document))


def without_keys(document: Document) -> Document:
    """The document without the digests of its write keys, which the server keeps."""
    kept: Document = {key: value for key, value in document.items() if key != "write_keys"}
    return kept


def difference(before: Document | None, after: Document | None) -> Markup:
    """The changes between two versions, as lines of YAML, or why they are not shown."""
    try:
        old, new = ([] if each is None else written(each).splitlines() for each in (before, after))
        lines = list(_changes(old, new))
    except TooLongError as error:
        return _note(f"One of them cannot be compared here: {error}.")
    except _TooManyError as error:
        return _note(str(error))
    if not lines:
        return _note("No difference.")
    spans = (tag("span", line + "\n", class_=_STYLES.get(line[:1])) for line in lines)
    return tag("pre", *spans, class_="diff", tabindex=0, aria_label="Difference")


def _note(text: str) -> Markup:
    return tag("p", text, class_="note")


class _TooManyError(ValueError):
    pass


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Lines of a unified difference. What is the same before and after all changes is not searched."""
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    changed = max(len(old), len(new)) - head - tail
    if changed > _MOST_CHANGED:
        raise _TooManyError(
            f"They differ in up to {changed:,} lines from line {head + 1:,} on, too many to compare here; "
            "`hifi history KIND/NAME --json` shows both."
        )
    start, end = max(0, head - _CONTEXT), max(0, tail - _CONTEXT)
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    for group in SequenceMatcher(None, old, new).get_grouped_opcodes(_CONTEXT):
        (_, first, _, other, _), (_, _, last, _, other_last) = group[0], group[-1]
        yield f"@@ -{start + first + 1},{last - first} +{start + other + 1},{other_last - other} @@"
        for kind, first, last, other, other_last in group:
            if kind == "equal":
                yield from (" " + line for line in old[first:last])
            else:
                yield from ("-" + line for line in old[first:last])
                yield from ("+" + line for line in new[other:other_last])


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines are the same at the beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))
