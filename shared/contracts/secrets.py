"""Secrets by reference: documents name them, nothing but the process that sends holds them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from shared.contracts.config import Document

SCHEME: Final = "secret://"

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._/-]{0,126}")


def secret_name(reference: str) -> str | None:
    """The name in `secret://name`; None for any other text."""
    name = reference.removeprefix(SCHEME)
    return name if name != reference and _NAME.fullmatch(name) else None


def mask_secret(tenant: str) -> str:
    """The reference of the key that a tenant's hash masks are keyed with."""
    return f"{SCHEME}masks/{tenant}"


def named_secrets(documents: Iterable[Document]) -> frozenset[str]:
    """All secrets that documents ask for: of each text that is a reference, and the tenants' mask keys."""
    names: set[str] = set()
    for document in documents:
        fields = msgspec.to_builtins(document)
        names.update(name for text in _texts(fields) if (name := secret_name(text)))
        if _hashes(fields) and (name := secret_name(mask_secret(document.tenant))):
            names.add(name)
    return frozenset(names)


def _hashes(fields: Mapping[str, Any]) -> bool:
    """Whether a pipe has a mask that needs a key."""
    return any(mask.get("action") == "hash" for mask in fields.get("masks") or ())


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
