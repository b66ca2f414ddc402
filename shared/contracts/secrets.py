"""References to secrets. Documents contain only names; `shared.runtime.secrets` loads the values."""

import re
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from shared.contracts.documents import Destination, Document, Pipe

SCHEME: Final = "secret://"

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._/-]{0,126}")


class UnknownSecretError(LookupError):
    """A secret does not exist, or is not loaded yet. The text gives its name, never its value."""

    def __init__(self, reference: str) -> None:
        super().__init__(f"secret_missing: there is no {reference}; create it, or correct its name")
        self.reference = reference


class Secrets(Protocol):
    """All secrets of a side, in memory."""

    def get(self, reference: str) -> str:
        """The value of `secret://name`, without a look-up.

        Raises:
            UnknownSecretError: if it does not exist or is not loaded.
        """
        ...


def secret_text(secrets: Secrets, reference: str) -> str:
    """A secret without white space around it: a file that one was made of ends in a line break.

    Raises:
        UnknownSecretError: if it does not exist or is not loaded.
    """
    return secrets.get(reference).strip()


def secret_name(reference: str) -> str | None:
    """The name in `secret://name`; None for any other text."""
    name = reference.removeprefix(SCHEME)
    return name if name != reference and _NAME.fullmatch(name) else None


def mask_secret(tenant: str) -> str:
    """The reference of the key that a tenant's hash masks are keyed with."""
    return f"{SCHEME}{tenant}/masks"


def foreign_secrets(tenant: str, options: object) -> Iterator[tuple[str, str]]:
    """Paths, and references at them, of the secrets in options that do not belong to the tenant.

    A document is a tenant's own, and so may its secrets only be: what it names goes to an address it gives.
    """
    for path, text in _texts(options, ""):
        name = secret_name(text)
        if name and not _is_of(tenant, name):
            yield path, text


def named_secrets(documents: Iterable[Document]) -> frozenset[str]:
    """All secrets that documents ask for: destinations by a reference in their options, pipes by a mask.

    Another tenant's are none of them.
    """
    names: set[str] = set()
    for document in documents:
        if isinstance(document, Destination):
            found = (secret_name(text) for _, text in _texts(document.options, ""))
            names.update(name for name in found if name and _is_of(document.tenant, name))
        if isinstance(document, Pipe) and _hashes(document):
            names.add(mask_secret(document.tenant).removeprefix(SCHEME))
    return frozenset(names)


def _is_of(tenant: str, name: str) -> bool:
    return name.startswith(f"{tenant}/")


def _hashes(pipe: Pipe) -> bool:
    """Whether a pipe has a mask that needs a key."""
    return any(mask.action == "hash" for mask in pipe.masks)


def _texts(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Every text in plain values, with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _texts(each, f"{path}.{name}")
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from _texts(each, f"{path}[{at}]")
