"""Loads YAML 1.2, with the line of every value.

PyYAML reads YAML 1.1, where `on`, `yes` and `no` are booleans, `12:30:00` is a number and `2026-01-31` is a
date: an event pattern with such a value would silently match nothing. Here they are text, as in JSON.
"""

import re
from collections.abc import Hashable, Iterator
from typing import Any

import yaml
from msgspec import Struct
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from shared.contracts.yaml_bounds import BoundedLoader, YamlError

_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


class CoreLoader(BoundedLoader):
    """The core schema of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 PyYAML's interface


CoreLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
CoreLoader.add_implicit_resolver(
    "tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]
)
CoreLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$|^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$"
    ),
    list("-+.0123456789"),
)
CoreLoader.yaml_implicit_resolvers = {
    first: [("tag:yaml.org,2002:int", re.compile(r"^[-+]?\d+$|^0o[0-7]+$|^0x[0-9a-fA-F]+$")), *resolvers]
    if first in "-+0123456789" and first
    else resolvers
    for first, resolvers in CoreLoader.yaml_implicit_resolvers.items()
}
CoreLoader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile(r"^<<$"), ["<"])


def _construct_int(loader: CoreLoader, node: ScalarNode) -> int:
    text = str(loader.construct_scalar(node))
    return int(text, 0) if text.startswith(("0x", "0o")) else int(text)


CoreLoader.add_constructor("tag:yaml.org,2002:int", _construct_int)


class Section(Struct, frozen=True):
    """One document of a YAML stream: plain values, and their places."""

    value: Any
    node: Node

    def line(self, path: str) -> int:
        """The line, from 1, of a path like `$.match.data[0]`, or of its nearest existing parent."""
        return line_of(self.node, path)


def sections(text: str) -> Iterator[Section]:
    """The documents of a YAML stream, without empty ones.

    Raises:
        YamlError: with the line.
    """
    loader = CoreLoader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is None or (isinstance(node, ScalarNode) and node.value == ""):
                continue
            _refuse_repeated_keys(node, "$")
            yield Section(loader.construct_document(node), node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(mark.line + 1 if mark else 1, "$", _sentence(error)) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, YamlError):
            raise
        raise YamlError(1, "$", f"not YAML: {error}") from error
    finally:
        loader.dispose()


def _sentence(error: yaml.MarkedYAMLError) -> str:
    return " ".join(part for part in (error.context, error.problem) if part)


def _refuse_repeated_keys(node: Node, path: str) -> None:
    if isinstance(node, SequenceNode):
        for index, item in enumerate(node.value):
            _refuse_repeated_keys(item, f"{path}[{index}]")
    if isinstance(node, MappingNode):
        lines: dict[Hashable, int] = {}
        for key, value in node.value:
            name, line = (key.tag, str(key.value)), key.start_mark.line + 1
            if name in lines and key.value != "<<":
                raise YamlError(line, f"{path}.{key.value}", f"given twice, first on line {lines[name]}")
            lines[name] = line
            _refuse_repeated_keys(value, f"{path}.{key.value}")


def line_of(node: Node, path: str) -> int:
    """See `Section.line`."""
    line = node.start_mark.line
    for name, index in _STEP.findall(path):
        entry = _child(node, name, index)
        if entry is None:
            break
        mark, node = entry
        line = mark.start_mark.line
    return int(line) + 1


def _child(node: Node, name: str, index: str) -> tuple[Node, Node] | None:
    """The node of the entry's line, and the node of its value."""
    if isinstance(node, MappingNode) and name:
        return next(((key, value) for key, value in node.value if key.value == name), None)
    if isinstance(node, SequenceNode) and index.isdigit() and int(index) < len(node.value):
        item = node.value[int(index)]
        return item, item
    return None
