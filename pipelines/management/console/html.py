"""Builds HTML; text is escaped unless it is `Markup`."""

import html
from typing import Final

_VOID: Final = frozenset({"br", "input", "rect"})


class Markup(str):
    """Text that is already HTML."""

    __slots__ = ()


Child = str | None
"""Markup, or text to be escaped; None is left out."""


def tag(name: str, /, *children: Child, **attributes: str | int | None) -> Markup:
    """An element. In attribute names `_` becomes `-`, a trailing `_` is dropped; None values are left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*children: Child) -> Markup:
    """The children concatenated."""
    return Markup("".join(_escaped(child) for child in children if child is not None))


def _escaped(child: str) -> str:
    return child if isinstance(child, Markup) else html.escape(child)
