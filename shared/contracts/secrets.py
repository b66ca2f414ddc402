"""Secrets by reference: documents name them; only the process that uses one holds it.

What they look like to those who need them. Where they come from is the runtime's business.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

import msgspec

from shared.contracts.config import Destination, Document, Pipe

SCHEME: Final = "secret://"

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._/-]{0,126}")


class UnknownSecretError(LookupError):
    """There is no such secret, or not yet. The text names it; it holds no value."""

    def __init__(self, reference: str) -> None:
        super().__init__(f"secret_missing: there is no {reference}; create it, or correct its name")
        self.reference = reference


class Secrets(Protocol):
    """All secrets of a side, in memory."""

    def get(self, reference: str) -> str:
        """The value of `secret://name`, without a look-up.

        Raises:
            UnknownSecretError: if there is none of that name.
        """
        ...


def secret_name(reference: str) -> str | None:
    """The name in `secret://name`; None for any other text."""
    name = reference.removeprefix(SCHEME)
    return name if name != reference and _NAME.fullmatch(name) else None


def mask_secret(tenant: str) -> str:
    """The reference of the key that a tenant's hash masks are keyed with."""
    return f"{SCHEME}masks/{tenant}"


def named_secrets(documents: Iterable[Document]) -> frozenset[str]:
    """All secrets that documents ask for: destinations by a reference in their options, pipes by a mask."""
    names: set[str | None] = set()
    for document in documents:
        if isinstance(document, Destination):
            names.update(secret_name(text) for text in _texts(document.options))
        if isinstance(document, Pipe) and _hashes(document):
            names.add(secret_name(mask_secret(document.tenant)))
    return frozenset(name for name in names if name)


def _hashes(pipe: Pipe) -> bool:
    """Whether a pipe has a mask that needs a key."""
    return any(mask.get("action") == "hash" for mask in msgspec.to_builtins(pipe).get("masks") or ())


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
