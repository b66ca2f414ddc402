"""The declared part of a connector: its options, and what can be said of them without sending."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from shared.contracts.documents import Batch

O = TypeVar("O")  # noqa: E741 a connector's Options

OptionFault = tuple[str, str, str]
"""A path below a destination's options (such as `$.url`), a message, and the fix."""

OptionHost = tuple[str, str]
"""A path below a destination's options, and the host that it makes hifi dial."""


def _nothing(_: Any) -> Iterable[Any]:
    return ()


def _as_asked(_: Any, limits: Batch) -> Batch:
    return limits


def _no_words(_: Any) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorSpec(Generic[O]):
    """A type of destination. All functions are pure."""

    description: str
    """One sentence: where it sends to."""

    options: type[O]
    """A msgspec Struct; a field's description (`Meta`) is shown in forms, and as the fix of a problem."""

    batch: Callable[[O, Batch], Batch] = _as_asked
    """Limits of one request, within the destination's `batch`."""

    faults: Callable[[O], Iterable[OptionFault]] = _nothing
    """Problems beyond the types, found before a document is written."""

    hosts: Callable[[O], Iterable[OptionHost]] = _nothing
    """Hosts that will be dialled, so that private addresses are refused before a document is written."""

    summary: Callable[[O], str] = _no_words
    """A short text about where events go, for a list of destinations."""
