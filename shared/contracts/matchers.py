"""The leaves of an event pattern, compiled to plain data: conditions on a single value.

Texts are *tagged* so that one comparison distinguishes types: a string is written as `"` and its characters
(no closing quote, nothing escaped), a number in plain decimal digits, the rest as JSON writes it (`true`,
`false`, `null`). So the string "5" is `"5` and the number 5 is `5`. Integers are equal digit by digit; a
number that the event wrote with a fraction or an exponent is equal as an IEEE double (300.0, 3e2: 300).
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

Op = Literal[
    "equals",
    "equals_ignore_case",
    "prefix",
    "prefix_ignore_case",
    "suffix",
    "suffix_ignore_case",
    "wildcard",
    "between",
    "present",
    "absent",
]

MAX_STARS: Final = 32
"""Of one wildcard: Java matches what is between two of them one call deeper, and route's stack is limited."""

MAX_WILDCARD_CHARACTERS: Final = 1_000

STRING_TAG: Final = '"'


class Matcher(Struct, frozen=True, kw_only=True):
    """Some value at the place passes `op` with one of `values`; with `negate`, some value that does not.

    `absent` is met when there is no value at all.
    """

    op: Op
    values: tuple[str, ...] = ()
    """Tagged for `equals*` and `prefix*`, bare characters for `suffix*`, a regular expression over the
    whole tagged text for `wildcard`."""

    negate: bool = False
    low: float = -math.inf
    high: float = math.inf
    """Inclusive bounds of `between`, as IEEE doubles."""

    parts: tuple[tuple[str, ...], ...] = ()
    """For each wildcard the texts between its stars, one more than stars."""


class PatternError(ValueError):
    """A pattern is not valid. `path` is the position in it, such as `.data.bitrate[0]`."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def compile_matchers(leaf: list[Any], path: str) -> tuple[Matcher, ...]:
    """The matchers of a leaf list, any of which is enough. Its plain values become one matcher.

    Raises:
        PatternError: names the matcher and the fix.
    """
    if not leaf:
        raise PatternError(path, "an empty list matches nothing; write at least one value")
    places = [(item, f"{path}[{i}]") for i, item in enumerate(leaf)]
    equals = tuple(tagged(item, at) for item, at in places if not isinstance(item, dict))
    plain = (Matcher(op="equals", values=equals),) if equals else ()
    return plain + tuple(_named(item, at) for item, at in places if isinstance(item, dict))


def tagged(value: object, path: str) -> str:
    """The tagged text that a value has in an event.

    Raises:
        PatternError: if it is not a string, a number, true, false or null.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return STRING_TAG + value
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return "0" if value == 0 else format(Decimal(repr(value)).normalize(), "f")
    raise PatternError(path, f"{value!r} is not text, a number, true, false or null; quote it to mean text")


def as_double(value: str) -> float | None:
    """The number of a tagged text; None if it is not one."""
    try:
        return None if value.startswith(STRING_TAG) else float(value)
    except ValueError:  # true, false, null
        return None


def _named(matcher: dict[str, Any], path: str) -> Matcher:
    if len(matcher) != 1:
        raise PatternError(path, f"one operator a matcher, not {len(matcher)}; split it into several")
    ((name, operand),) = matcher.items()
    build = _OPERATORS.get(name)
    if build is None:
        raise PatternError(path, f"{name!r} is not an operator; use one of {', '.join(sorted(_OPERATORS))}")
    return build(operand, f"{path}.{name}")


def _texts(operand: object, path: str) -> tuple[str, ...]:
    """One string or a list of strings."""
    texts = operand if isinstance(operand, list) else [operand]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise PatternError(path, "takes a string or a list of strings")
    return tuple(texts)


def _tagged_texts(operand: object, path: str) -> tuple[str, ...]:
    return tuple(STRING_TAG + text for text in _texts(operand, path))


def _edge(side: Literal["prefix", "suffix"], clean: Callable[[object, str], tuple[str, ...]]) -> Any:
    """`prefix` or `suffix`, either of which may be asked for without regard to case."""

    def build(operand: object, path: str) -> Matcher:
        if not isinstance(operand, dict):
            return Matcher(op=side, values=clean(operand, path))
        if set(operand) != {"equals-ignore-case"}:
            raise PatternError(path, "takes a string, a list of strings or {equals-ignore-case: string}")
        values = clean(operand["equals-ignore-case"], f"{path}.equals-ignore-case")
        return Matcher(op="prefix_ignore_case" if side == "prefix" else "suffix_ignore_case", values=values)

    return build


def _ignore_case(operand: object, path: str) -> Matcher:
    return Matcher(op="equals_ignore_case", values=_tagged_texts(operand, path))


def _wildcard(operand: object, path: str) -> Matcher:
    parts = tuple(_wildcard_parts(text, path) for text in _texts(operand, path))
    return Matcher(op="wildcard", values=tuple(map(_wildcard_regex, parts)), parts=parts)


def _wildcard_regex(literal: Sequence[str]) -> str:
    """A regular expression of Java for the literal texts between the stars.

    The first place of each middle part is as good as any later one, so its group is atomic (`(?>...)`): with
    a search that goes back, time would grow with the text's length to the power of the stars.
    """
    parts = [re.escape(part) for part in literal]
    first, last = STRING_TAG + parts[0], parts[-1]
    if len(parts) == 1:
        return rf"(?s)\A{first}\z"
    middle = "".join(f"(?>.*?{part})" for part in parts[1:-1])
    return rf"(?s)\A{first}{middle}.*{last}\z"


def _wildcard_parts(text: str, path: str) -> tuple[str, ...]:
    r"""The literal texts between the stars: `*` is any run of characters, `\*` and `\\` literal.

    Raises:
        PatternError: two stars in a row, or a backslash before anything else, as AWS refuses them; too long,
            or too many stars.
    """
    if len(text) > MAX_WILDCARD_CHARACTERS or text.count("*") > MAX_STARS:
        most = f"at most {MAX_WILDCARD_CHARACTERS:,} characters and {MAX_STARS} stars"
        raise PatternError(path, f"a wildcard has {most}; shorten it, or use prefix and suffix")
    parts, characters = [""], iter(text)
    for character in characters:
        if character == "*":
            parts.append("")
        elif character == "\\":
            escaped = next(characters, "")
            if escaped not in ("*", "\\") or not escaped:
                raise PatternError(path, r"a backslash stands only before * or \ ; write \\ for one")
            parts[-1] += escaped
        else:
            parts[-1] += character
    if "" in parts[1:-1]:
        raise PatternError(path, "two stars in a row mean no more than one; write one")
    return tuple(parts)


def _exists(operand: object, path: str) -> Matcher:
    if not isinstance(operand, bool):
        raise PatternError(path, "takes true or false")
    return Matcher(op="present" if operand else "absent")


def _numeric(operand: object, path: str) -> Matcher:
    """`["=", 5]`, `[">", 0]` or `[">", 0, "<=", 5]`."""
    if not isinstance(operand, list) or len(operand) not in (2, 4):
        raise PatternError(path, 'takes one or two comparisons, for example [">", 0, "<=", 5]')
    low, high = -math.inf, math.inf
    for at, (sign, number) in enumerate(zip(operand[::2], operand[1::2], strict=True)):
        lower, upper = _bounds(sign, number, f"{path}[{2 * at}]")
        low, high = max(low, lower), min(high, upper)
    if low > high:
        raise PatternError(path, "no number meets both comparisons; swap their signs or numbers")
    return Matcher(op="between", low=low, high=high)


def _bounds(sign: object, number: object, path: str) -> tuple[float, float]:
    """Inclusive bounds of one comparison."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise PatternError(path, f"compares with a number, not {number!r}")
    value = _double(number, path)
    match sign:
        case "=":
            return value, value
        case "<":
            return -math.inf, math.nextafter(value, -math.inf)
        case "<=":
            return -math.inf, value
        case ">":
            return math.nextafter(value, math.inf), math.inf
        case ">=":
            return value, math.inf
    raise PatternError(path, f"{sign!r} is not a comparison; use one of <, <=, =, >=, >")


def _double(number: float, path: str) -> float:
    try:
        value = float(number)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise PatternError(path, "a number beyond 1.8e308 cannot be compared")
    return value


def _anything_but(operand: object, path: str) -> Matcher:
    """Values, or one of the operators in `_NEGATABLE` around strings."""
    if isinstance(operand, dict):
        if len(operand) != 1 or not set(operand) <= _NEGATABLE:
            raise PatternError(path, f"takes values or one of {', '.join(sorted(_NEGATABLE))}")
        matcher = _named(operand, path)
        return replace(matcher, negate=True)
    values: Iterable[object] = operand if isinstance(operand, list) else [operand]
    texts = tuple(tagged(value, f"{path}[{i}]") for i, value in enumerate(values))
    if not texts:
        raise PatternError(path, "an empty list excludes nothing; use {exists: true}")
    return Matcher(op="equals", values=texts, negate=True)


_NEGATABLE: Final = frozenset({"prefix", "suffix", "equals-ignore-case", "wildcard"})
_OPERATORS: Final[dict[str, Callable[[Any, str], Matcher]]] = {
    "prefix": _edge("prefix", _tagged_texts),
    "suffix": _edge("suffix", _texts),
    "equals-ignore-case": _ignore_case,
    "wildcard": _wildcard,
    "exists": _exists,
    "numeric": _numeric,
    "anything-but": _anything_but,
}
