"""Bounds what a YAML text becomes: its nesting, and what its aliases repeat.

An alias costs two characters and stands for all of what its anchor marks, aliases included, so that a few
lines could stand for gigabytes. Both are counted while the text is read, before anything is built of it.
"""

from typing import Any, Final

import yaml
from msgspec import Struct
from yaml.events import AliasEvent, CollectionStartEvent, NodeEvent
from yaml.nodes import Node, ScalarNode

from shared.contracts.limits import MAX_DOCUMENT_BYTES, MAX_DOCUMENT_DEPTH

ALIASED_CHARACTERS: Final = MAX_DOCUMENT_BYTES
"""Characters that a text's aliases may repeat beyond its own length: as many as one document may have."""


class YamlError(ValueError):
    """Text that is not YAML, is too deep, or has a key twice; `line` counts from 1."""

    def __init__(self, line: int, path: str, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.path = path


class _Extent(Struct, frozen=True):
    """The size of what an anchor marks."""

    characters: int
    """Characters of its texts, and one for each value; content repeated by aliases counts again."""

    levels: int


class BoundedLoader(yaml.SafeLoader):
    """Refuses with YamlError, at the line of the alias or value that goes too far."""

    def __init__(self, text: str | bytes) -> None:
        super().__init__(text)
        self._allowed = ALIASED_CHARACTERS + len(text)
        self._left = self._allowed
        self._anchored: dict[str, _Extent] = {}
        self._characters = self._depth = self._deepest = 0

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        """PyYAML's step that reads one value with all that is in it."""
        event = self.peek_event()  # type: ignore[no-untyped-call]  # PyYAML's stubs leave it out
        if isinstance(event, AliasEvent):
            node = super().compose_node(parent, index)
            self._repeat(event.anchor or "", _line(event))
            return node
        return self._measured(event, parent, index)

    def _measured(self, event: NodeEvent, parent: Node | None, index: Any) -> Node | None:
        if self._depth == 0:
            self._anchored.clear()  # a document cannot repeat what is in another one
        above, before, self._deepest = self._deepest, self._characters, self._depth
        levels = int(isinstance(event, CollectionStartEvent))
        self._depth += levels
        self._reach(self._depth, _line(event))
        node = super().compose_node(parent, index)
        self._depth -= levels
        self._characters += 1 + (len(node.value) if isinstance(node, ScalarNode) else 0)
        if event.anchor is not None:
            self._anchored[event.anchor] = _Extent(self._characters - before, self._deepest - self._depth)
        self._deepest = max(above, self._deepest)
        return node

    def _repeat(self, anchor: str, line: int) -> None:
        found = self._anchored.get(anchor)
        if found is None:
            raise YamlError(line, "$", "an alias inside its own anchor")
        self._reach(self._depth + found.levels, line)
        self._left -= found.characters
        if self._left < 0:
            said = f"aliases repeat more than {self._allowed:,} characters"
            raise YamlError(line, "$", f"{said}; write out what *{anchor} stands for, or use fewer aliases")
        self._characters += found.characters

    def _reach(self, depth: int, line: int) -> None:
        if depth > MAX_DOCUMENT_DEPTH:
            said = f"nested more than {MAX_DOCUMENT_DEPTH} levels deep; write it flatter"
            raise YamlError(line, "$", said)
        self._deepest = max(self._deepest, depth)


def load_bounded(text: str | bytes) -> Any:
    """The document in a text, as PyYAML's safe loader has it.

    Raises:
        YamlError: if it becomes too large or too deep.
        yaml.YAMLError: if it is not YAML.
    """
    loader = BoundedLoader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def _line(event: NodeEvent) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1
