"""Text of a Java properties file, which Java reads as ISO-8859-1 with escapes."""

from collections.abc import Mapping
from typing import Final

_ESCAPES: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
_PRINTABLE: Final = range(0x20, 0x7F)


def properties_text(properties: Mapping[str, str]) -> str:
    """One line of ASCII for each property, in the order of their names, which are taken as they are."""
    return "".join(f"{name}={_value(value)}\n" for name, value in sorted(properties.items()))


def _value(value: str) -> str:
    escaped = "".join(map(_character, value))
    return f"\\{escaped}" if escaped.startswith(" ") else escaped  # or Java skips the space


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if ord(character) in _PRINTABLE:
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
