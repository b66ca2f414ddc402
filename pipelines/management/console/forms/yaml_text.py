"""Documents as YAML text, and the differences between two. Pure."""

import difflib
from typing import Final

import yaml

from pipelines.management.console.api_client import Document
from pipelines.management.console.html import Markup, tag
from shared.documents.yaml_dumper import CoreDumper

_WIDTH: Final = 100
_FIRST: Final = ("kind", "name", "tenant")
_STYLES: Final = {"+": "added", "-": "removed", "@": "place"}


def written(value: object) -> str:
    """A value as YAML, its members in their order."""
    dumped: str = yaml.dump(value, Dumper=CoreDumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return dumped.removesuffix("...\n")


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
    """What changed between two versions, as lines of YAML."""
    old, new = ("" if each is None else written(each) for each in (before, after))
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), n=3, lineterm=""))[2:]
    if not lines:
        return tag("p", "No difference.", class_="note")
    spans = (tag("span", line + "\n", class_=_STYLES.get(line[:1])) for line in lines)
    return tag("pre", *spans, class_="diff", tabindex=0, aria_label="Difference")
