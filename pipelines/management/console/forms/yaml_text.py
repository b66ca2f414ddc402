"""Documents as YAML text, and the differences between two. Pure."""

import difflib
import re
from typing import Final

import yaml

from pipelines.management.console.api_client import Document
from pipelines.management.console.html import Markup, tag
from shared.documents.yaml_dumper import CoreDumper

_BREAKS: Final = re.compile("[\r\x85\u2028\u2029]")
_WIDTH: Final = 100
_FIRST: Final = ("kind", "name", "tenant")
_STYLES: Final = {"+": "added", "-": "removed", "@": "place"}


class _Dumper(CoreDumper):
    """Writes text of several lines as a block, and nothing as a reference to something above."""

    def ignore_aliases(self, data: object) -> bool:
        del data
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    if _BREAKS.search(text):
        style = '"'  # PyYAML would write them as they are, and read them as spaces
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def written(value: object) -> str:
    """A value as YAML, its members in their order."""
    dumped: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
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
