"""Lists."""

from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Page(Struct, Generic[T], frozen=True, kw_only=True):
    """A part of a list."""

    items: list[T]
    next: str | None = None
    """The cursor of the next part, if there is one."""
