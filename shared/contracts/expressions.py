"""Transforms of pipes: JMESPath expressions, checked before they are published.

The library reports only syntax errors when it compiles. Unknown functions, wrong numbers of arguments and the
like are checked here. Language: https://jmespath.org/specification.html
"""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

from jmespath import exceptions, functions, parser

MAX_CHARACTERS: Final = 8_192
MAX_NESTING: Final = 100
"""Nesting of the expression itself; its input may be nested as deep as an event."""

_FUNCTIONS: Final[Mapping[str, Any]] = functions.Functions.FUNCTION_TABLE

Node = dict[str, Any]
"""The library's syntax tree: `type`, `children`, perhaps `value`."""


class ExpressionError(ValueError):
    """An expression is not valid; the text gives the position and the fix."""


def compile_expression(text: str) -> Node:
    """The syntax tree of a JMESPath expression.

    Raises:
        ExpressionError: gives the position and the fix.
    """
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"is longer than {MAX_CHARACTERS} characters; use several pipes")
    try:
        tree: Node = parser.Parser().parse(text).parsed
    except exceptions.ParseError as error:
        raise ExpressionError(_syntax(text, error)) from error
    except RecursionError as error:
        raise ExpressionError(_TOO_DEEP) from error
    except exceptions.JMESPathError as error:
        raise ExpressionError("is empty; `data` alone would pass the event's data on") from error
    except ValueError as error:  # of `int`, which reads 4,300 digits at most
        raise ExpressionError("has a number with too many digits; make it shorter") from error
    for fault in _faults(tree, text):
        raise ExpressionError(fault)
    return tree


_TOO_DEEP: Final = f"is nested deeper than {MAX_NESTING}; make it simpler"


def _syntax(text: str, error: exceptions.ParseError) -> str:
    if isinstance(error, exceptions.IncompleteExpressionError) or error.lex_position >= len(text):
        return f"ends too early, {_place(text, len(text))}; close what is open"
    found = text[error.lex_position : error.lex_position + 20]
    return f"is not JMESPath {_place(text, error.lex_position)}, near {found!r}"


def _place(text: str, at: int) -> str:
    """`at character 12`; of a text of several lines the line, too."""
    line = text.count("\n", 0, at)
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return f"at line {line + 1}, character {column}" if "\n" in text else f"at character {column}"


def _faults(tree: Node, text: str) -> Iterator[str]:
    """Errors that the library would report only when it evaluates."""
    left = [(tree, 1, False)]
    while left:
        node, depth, is_argument = left.pop()
        if depth > MAX_NESTING:
            yield _TOO_DEEP
            return
        kind = node["type"]
        if kind == "function_expression":
            yield from _call_faults(node, text)
        elif kind == "expref" and not is_argument:
            yield "uses & outside of a function's arguments; it belongs there, as in sort_by(@, &name)"
        elif kind == "slice" and node["children"][2] == 0:
            yield "takes a slice with step 0; leave the step out, or write 1"
        children = [child for child in node["children"] if isinstance(child, dict)]
        left += [(child, depth + 1, kind == "function_expression") for child in children]


def _call_faults(node: Node, text: str) -> Iterator[str]:
    name, arguments = node["value"], node["children"]
    place = _call_place(name, text)
    known = _FUNCTIONS.get(name)
    if known is None:
        close = get_close_matches(name, _FUNCTIONS, n=1)
        yield f"calls {name}(){place}, which JMESPath does not have" + (
            f"; did you mean {close[0]}()?" if close else f"; it has {', '.join(sorted(_FUNCTIONS))}"
        )
        return
    wanted = known["signature"]
    more = " or more" if wanted and wanted[-1].get("variadic") else ""
    if len(arguments) < len(wanted) or (len(arguments) > len(wanted) and not more):
        yield f"calls {name}(){place} with {len(arguments)} arguments; it takes {len(wanted)}{more}"
    for want, argument in zip(wanted, arguments, strict=False):
        if want["types"] == ["expref"] and argument["type"] != "expref":
            yield f"calls {name}(){place} with a value where an expression belongs; put & before it"


def _call_place(name: str, text: str) -> str:
    found = re.search(rf"\b{re.escape(name)}\s*\(", text)
    return f" {_place(text, found.start())}" if found else ""
